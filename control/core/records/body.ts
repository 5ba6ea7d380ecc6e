import { s, type Shape } from '../../../shared/schema.ts'
import type { Kind } from './kind.ts'
import { metadataInputOf, type MetadataInput } from './metadata.ts'

/** What a create or update says, whatever the body looked like. */
export interface ResourceInput {
  readonly metadata?: MetadataInput | null | undefined
  readonly spec?: unknown
}

const standard = (kind: Pick<Kind, 'spec' | 'metadata'>) =>
  s.object({ metadata: s.nullish(metadataInputOf(kind.metadata)), spec: s.nullish(kind.spec) })

/** Shape of what a create or update of the kind takes. */
export const bodyOf = (kind: Kind, verb: 'create' | 'update' = 'create'): Shape =>
  kind.wire ? kind.wire[verb] : standard(kind)

/** What a parsed body says. */
export const inputOf = ({ wire }: Kind, body: unknown): ResourceInput =>
  wire ? wire.read((body ?? {}) as never) : ((body ?? {}) as ResourceInput)
