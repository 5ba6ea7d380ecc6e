/** The record that the parameters of a path name. */
import type { Context } from '../../../shared/route.ts'
import { fail } from '../../../shared/errors.ts'
import { s } from '../../../shared/schema.ts'
import { ancestorsOf, paramOf } from '../../core/records/address.ts'
import type { Kind } from '../../core/records/kind.ts'
import type { Resource, Store } from '../../core/store/store.ts'
import { factsOf } from './surface.ts'

/** Shape of the parameters of one resource's paths. */
export const paramsFor = (kind: Kind) =>
  s.object(Object.fromEntries([...ancestorsOf(kind), kind].map(one => [paramOf(one), s.string()])))

export interface Naming {
  readonly params: Readonly<Record<string, string>>
  readonly context: Context
}

/** Also one that has ended and is kept for a while. Throws `not_found`. */
export const namedRecord = async (
  kind: Kind,
  { resources }: Pick<Store, 'resources'>,
  { params, context }: Naming,
): Promise<Resource> => {
  const parent = ancestorsOf(kind)
    .map(one => params[paramOf(one)])
    .join('/')
  const name = params[paramOf(kind)] as string
  const { workspace } = factsOf(context).actor
  const record = await resources.get({ kind: kind.kind, workspace, parent, name })
  if (!record) throw fail('not_found', { kind: kind.kind, name })
  return record
}
