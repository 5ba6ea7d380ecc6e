/** Chats of OpenAI's dialect said to Cohere, whose second version is near to it. */
import { at, listOf, member, textOr, type Json, type JsonObject } from '../json.ts'
import { callDelta, choice, chunk, completion, count, usageChunk, type SaidUsage } from './answer.ts'
import {
  formatOf,
  messagesOf,
  needKnown,
  partsOf,
  present,
  refuse,
  stopsOf,
  textOf,
  toolCallsOf,
  toolChoiceOf,
  toolsOf,
  type Message,
  type Part,
} from './request.ts'
import type { StreamTranslator, Translation, TranslationContext } from './translation.ts'

const known = [
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'response_format',
  'user',
]

const partOf = (part: Part): JsonObject => {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const url = part.type === 'link' ? part.url : `data:${part.mediaType};base64,${part.data}`
  return { type: 'image_url', image_url: { url } }
}

const messageOf = (said: Message): JsonObject => {
  const { role, message, field } = said
  if (role === 'system' || role === 'developer') return { role: 'system', content: textOf(said) }
  if (role === 'user') return { role, content: partsOf(said).map(partOf) }
  if (role === 'tool') return { role, tool_call_id: message['tool_call_id'], content: textOf(said) }
  if (role !== 'assistant') throw refuse(`${field}.role`, `"${role}" cannot be translated`)
  const calls = toolCallsOf(said).map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }))
  const text = textOf(said)
  return present({ role, content: text || undefined, tool_calls: calls.length > 0 ? calls : undefined })
}

const toolChoice = (body: JsonObject): string | undefined => {
  const choice = toolChoiceOf(body)
  if (!choice || choice.mode === 'auto') return undefined
  if (choice.mode === 'none' || choice.mode === 'required') return choice.mode.toUpperCase()
  throw refuse('tool_choice', 'Cohere cannot be told which function to call; send required with that one alone')
}

const request = (body: JsonObject, { model }: TranslationContext): JsonObject => {
  needKnown(body, known, 'Cohere')
  const format = formatOf(body)
  const tools = toolsOf(body).map(tool => ({ type: 'function', function: { ...tool } }))
  return present({
    model,
    messages: messagesOf(body).map(messageOf),
    stream: body['stream'] === true,
    max_tokens: body['max_completion_tokens'] ?? body['max_tokens'],
    temperature: body['temperature'],
    p: body['top_p'],
    stop_sequences: stopsOf(body),
    seed: body['seed'],
    frequency_penalty: body['frequency_penalty'],
    presence_penalty: body['presence_penalty'],
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: tools.length > 0 ? toolChoice(body) : undefined,
    response_format: format
      ? present({ type: 'json_object', json_schema: format === 'json' ? undefined : format })
      : undefined,
  })
}

const finishes: Readonly<Record<string, string>> = {
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  TOOL_CALL: 'tool_calls',
}

const finishOf = (reason: Json): string => finishes[textOr(reason)] ?? 'content_filter'

const usageOf = (usage: Json): SaidUsage => ({
  input: count(at(usage, 'tokens.input_tokens')),
  output: count(at(usage, 'tokens.output_tokens')),
  cached: count(member(usage, 'cached_tokens')),
  reasoning: 0,
})

const answer = (body: Json, context: TranslationContext): JsonObject => {
  const message = member(body, 'message')
  const parts = listOf(member(message, 'content'))
  const texts = (name: string) => parts.map(part => textOr(member(part, name))).join('')
  const calls = listOf(member(message, 'tool_calls')).map(call => ({
    id: textOr(member(call, 'id')),
    name: textOr(at(call, 'function.name')),
    arguments: textOr(at(call, 'function.arguments'), '{}'),
  }))
  const thought = texts('thinking') + textOr(member(message, 'tool_plan'))
  const said = { text: texts('text'), thought, calls, finish: finishOf(member(body, 'finish_reason')) }
  return completion(context, [choice(0, said)], usageOf(member(body, 'usage')))
}

class Stream implements StreamTranslator {
  readonly #context: TranslationContext
  #calls = -1

  constructor(context: TranslationContext) {
    this.#context = context
  }

  next(event: Json): readonly JsonObject[] {
    const context = this.#context
    const type = member(event, 'type')
    const message = at(event, 'delta.message')
    const call = member(message, 'tool_calls')
    const written = textOr(at(call, 'function.arguments'))
    switch (type) {
      case 'message-start':
        return [chunk(context, { role: 'assistant', content: '' })]
      case 'content-delta':
        return this.#content(member(message, 'content'))
      case 'tool-plan-delta':
        return [chunk(context, { reasoning_content: textOr(member(message, 'tool_plan')) })]
      case 'tool-call-start': {
        const begun = { id: textOr(member(call, 'id')), name: textOr(at(call, 'function.name')), arguments: written }
        return [chunk(context, callDelta(++this.#calls, begun))]
      }
      case 'tool-call-delta':
        return [chunk(context, callDelta(this.#calls, { arguments: written }))]
      case 'message-end':
        return [
          chunk(context, {}, finishOf(at(event, 'delta.finish_reason'))),
          ...(context.includeUsage ? [usageChunk(context, usageOf(at(event, 'delta.usage')))] : []),
        ]
      default:
        return []
    }
  }

  #content(content: Json): readonly JsonObject[] {
    const [text, thought] = [textOr(member(content, 'text')), textOr(member(content, 'thinking'))]
    return [
      ...(thought ? [chunk(this.#context, { reasoning_content: thought })] : []),
      ...(text ? [chunk(this.#context, { content: text })] : []),
    ]
  }
}

export const cohereChat: Translation = {
  request: (body, context) => ({ path: '/chat', body: request(body, context) }),
  answer,
  stream: context => new Stream(context),
}
