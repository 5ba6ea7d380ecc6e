/** How one kind of request is spoken: where its answers tell what was used, and how a stream of it ends. */
import type { Json } from '../json.ts'

/** Where token counts stand below a usage object. Members of a list are added up. */
export interface CountsAt {
  readonly sent: readonly string[]
  readonly received: readonly string[]
  readonly cached?: string
  readonly reasoning?: string
}

export interface Dialect {
  readonly name: string
  /** Paths of the usage object in a whole answer, and in an event of a stream; the first that is there counts. */
  readonly usage: {
    readonly body: readonly string[]
    readonly stream: readonly string[]
    /** What an event that tells it has, as bytes: others are not parsed. */
    readonly marks: readonly string[]
  }
  readonly counts: CountsAt
  /** Text that the model wrote, in a whole answer or in one event. */
  textOf(answer: Json): string
  /** What only the last event of a stream has, as bytes. */
  readonly ends: readonly string[]
  /** An event that the provider's own clients raise as an error. */
  errorEvent(message: string): string
  /** Member of the request that names the most tokens of an answer. */
  readonly most: readonly string[]
  /** Member to add to a streaming request so that its last event tells the usage. */
  readonly askUsage?: { readonly absent: string; readonly member: string }
  /** The request names its model in this way, and not in its path. */
  readonly namesModel?: true
  /** It is served, and not offered. */
  readonly unlisted?: true
  /** Answers are no text that could be counted: vectors. */
  readonly silent?: true
}
