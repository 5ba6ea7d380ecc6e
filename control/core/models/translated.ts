/** A chat of OpenAI's dialect to a provider that speaks another one, and its answer back (generation mk3). */
import { fail } from '../../../shared/errors.ts'
import { placeOf } from './address.ts'
import type { Transform } from './answering.ts'
import { chat } from './dialects/openai.ts'
import { dataOf } from './frames.ts'
import { isObject, member, parsed, textOr, type JsonObject } from './json.ts'
import type { Body, Prepared } from './prepare.ts'
import type { Route } from './routes.ts'
import { errorObject } from './translate/answer.ts'
import type { Translation, TranslationContext } from './translate/translation.ts'

/** The path of chats, whether or not with a version in front. */
const isChat = (target: string): boolean => /^(?:\/v1)?\/chat\/completions(?:\?|$)/.test(target)

/** How the chat is translated; undefined for one that passes as it is. */
export const translationFor = ({ runtime, provider }: Route, target: string): Translation | undefined => {
  const { translation } = provider
  return runtime.generation === 'mk3' && translation && !translation.same && isChat(target) ? translation : undefined
}

const eventOf = (chunk: JsonObject): Buffer => Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)

const done = Buffer.from('data: [DONE]\n\n')

const transformOf = (translation: Translation, context: TranslationContext): Transform => {
  const stream = translation.stream(context)
  return {
    frame(frame) {
      const data = dataOf(frame)
      const event = data ? parsed(data) : undefined
      if (event === undefined) return []
      const error = errorObject(event)
      return error ? [eventOf(error)] : stream.next(event).map(eventOf)
    },
    last: () => [done],
    whole(bytes) {
      const body = parsed(bytes.toString('utf8'))
      if (body === undefined) return bytes
      return Buffer.from(JSON.stringify(errorObject(body) ?? translation.answer(body, context)))
    },
  }
}

/** Throws `invalid_argument` naming the member that the provider has nothing for. */
export const translated = (
  translation: Translation,
  route: Route,
  { raw }: Body,
  { id, time }: { readonly id: string; readonly time: number },
): Prepared => {
  const body = raw instanceof Buffer ? parsed(raw.toString('utf8')) : undefined
  if (!isObject(body)) throw fail('invalid_argument', { field: 'body', reason: 'must be a JSON object, sent plain' })
  const { provider, base, values, runtime, record } = route
  const given = textOr(body['model'])
  const model = runtime.model || given
  if (!model) throw fail('model_unusable', { name: record.name, reason: 'it has no runtime.model' })
  const context: TranslationContext = {
    model,
    created: Math.floor(time / 1000),
    id: `chatcmpl-${id}`,
    includeUsage: member(body['stream_options'], 'include_usage') === true,
  }
  const asked = translation.request(body, context)
  const place = placeOf(provider, base, asked.path, values)
  return {
    path: place.path,
    method: 'POST',
    dialect: place.dialect,
    told: chat,
    body: Buffer.from(JSON.stringify(asked.body)),
    transform: transformOf(translation, context),
  }
}
