/** Providers that speak OpenAI's dialect themselves: nothing is translated but the name of the model. */
import { isObject, type Json, type JsonObject } from '../json.ts'
import type { Translation } from './translation.ts'

const objectOf = (value: Json): JsonObject => (isObject(value) ? value : {})

export const same: Translation = {
  same: true,
  request: body => ({ path: '/chat/completions', body }),
  answer: objectOf,
  stream: () => ({ next: event => [objectOf(event)] }),
}
