/** How a chat in OpenAI's dialect is said to a provider, and its answer said back (generation mk3). */
import type { Json, JsonObject } from '../json.ts'

export interface Asked {
  /** Path below the provider's base, with its query. */
  readonly path: string
  readonly body: JsonObject
}

/** Turns the events of one stream, one at a time, into chunks of OpenAI's dialect. */
export interface StreamTranslator {
  /** `event` is its `data` as JSON. Answers whole chunks. */
  next(event: Json): readonly JsonObject[]
}

export interface TranslationContext {
  /** Identifier at the provider. */
  readonly model: string
  /** Epoch seconds. */
  readonly created: number
  readonly id: string
  /** The client wants usage in the stream. */
  readonly includeUsage: boolean
}

export interface Translation {
  /** Throws `invalid_argument` naming the member that the provider has nothing for. */
  request(body: JsonObject, context: TranslationContext): Asked
  /** The whole answer in OpenAI's dialect. */
  answer(body: Json, context: TranslationContext): JsonObject
  stream(context: TranslationContext): StreamTranslator
  /** The provider speaks OpenAI's dialect itself: bodies and events pass as they are. */
  readonly same?: true
}
