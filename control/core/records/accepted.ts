/** From the spec that was sent to the spec that is stored. */
import { isDeepStrictEqual } from 'node:util'
import type { Resource } from '../store/store.ts'
import type { Context } from './context.ts'
import type { Around, Kind, Spec } from './kind.ts'
import { sealSpec } from './sealing.ts'

/** Without members that are null, which means they are not to be there. */
const given = (spec: Spec): Spec =>
  Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined && value !== null))

/** What is not deployed anew is held to nothing. */
const boundTo = async (kind: Kind, spec: Spec, previous: Resource | undefined, around: Around): Promise<Spec> => {
  if (!previous || !isDeepStrictEqual(previous.spec, spec)) await kind.bind?.(spec, around)
  return spec
}

/** An update without a spec changes none. Throws `invalid_argument` naming the field. */
export const accepted = async (
  { kind, sealer }: Context,
  sent: unknown,
  previous: Resource | undefined,
  around: Around,
): Promise<Spec> => {
  const sealed = sent ? sealSpec(sent as Spec, previous?.spec, kind.sealed, sealer) : undefined
  // A kind with rules of its own for what is absent has them all.
  if (kind.accept) {
    const spec = await kind.accept(sealed as never, previous, around)
    return boundTo(kind, spec, previous, around)
  }
  const kept = kind.absent === 'keep' || !sealed ? previous?.spec : undefined
  // What is not to be there has the value that holds unless given.
  const filled = { ...kind.fallback, ...given({ ...kept, ...sealed }) }
  const spec = kind.complete?.(filled) ?? filled
  kind.check?.(spec, previous, around)
  return boundTo(kind, spec, previous, around)
}
