import { s } from '../../shared/schema.ts'
import type { KindFace } from './kind.ts'
import { metadataInput, type MetadataInput } from './metadata.ts'

/** The body of a create or update, parsed. */
export interface ResourceInput {
  readonly metadata?: MetadataInput | null | undefined
  readonly spec?: unknown
}

/** Shape of what a create or update of the kind takes. */
export const bodyOf = <K extends Pick<KindFace, 'spec'>>(kind: K) =>
  s.object({ metadata: s.nullish(metadataInput), spec: s.nullish(kind.spec as K['spec']) })
