/** Bodies and answers of a kind that are not `{metadata, spec}`. */
import type { Shape } from '../../../shared/schema.ts'
import type { Resource } from '../store/store.ts'
import type { ResourceInput } from './body.ts'
import type { Presented } from './present.ts'

export interface Wire {
  readonly create: Shape
  readonly update: Shape
  /** What a body of either says of metadata and spec. */
  read(body: never): ResourceInput
  readonly answer: Shape
  render(standard: Presented, record: Resource): Record<string, unknown>
  /** The answer to a create, where it is another one. */
  readonly created?: {
    readonly shape: Shape
    render(standard: Presented, record: Resource): Record<string, unknown>
  }
}
