/** From the spec that was sent to the spec that is stored. */
import type { Resource } from '../store/store.ts'
import type { Context } from './context.ts'
import type { Around, Spec } from './kind.ts'
import { sealSpec } from './sealing.ts'

/** Without members that are null, which means they are not to be there. */
const given = (spec: Spec): Spec =>
  Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined && value !== null))

/** An update without a spec changes none. Throws `invalid_argument` naming the field. */
export const accepted = async (
  { kind, sealer }: Context,
  sent: unknown,
  previous: Resource | undefined,
  around: Around,
): Promise<Spec> => {
  const sealed = sent ? sealSpec(sent as Spec, previous?.spec, kind.sealed, sealer) : undefined
  // A kind with rules of its own for what is absent has them all.
  if (kind.accept) return kind.accept(sealed as never, previous, around)
  const kept = kind.absent === 'keep' || !sealed ? previous?.spec : undefined
  // What is not to be there has the value that holds unless given.
  const filled = { ...kind.fallback, ...given({ ...kept, ...sealed }) }
  const spec = kind.complete?.(filled) ?? filled
  kind.check?.(spec, previous, around)
  return spec
}
