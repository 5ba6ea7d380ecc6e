import { s } from '../../shared/schema.ts'
import type { Kind } from './kind.ts'
import { metadataInput, type MetadataInput } from './metadata.ts'

/** The body of a create or update, parsed. */
export interface ResourceInput {
  readonly metadata?: MetadataInput | null | undefined
  readonly spec?: unknown
}

/** Shape of what a create or update of the kind takes. */
export const bodyOf = (kind: Kind) => s.object({ metadata: s.nullish(metadataInput), spec: s.nullish(kind.spec) })
