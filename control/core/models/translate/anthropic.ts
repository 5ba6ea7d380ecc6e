/** Chats of OpenAI's dialect said to Anthropic. */
import { at, isObject, listOf, member, textOr, type Json, type JsonObject } from '../json.ts'
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
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'user',
]

/** Here an answer always has an end. */
const usualMost = 4096

/** The tool that an answer of a given shape is written into: its arguments are the answer. */
const answerTool = 'answer_in_json'

const blockOf = (part: Part): JsonObject => {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.type === 'link') return { type: 'image', source: { type: 'url', url: part.url } }
  return { type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.data } }
}

const turnOf = (said: Message): { role: string; content: JsonObject[] } => {
  if (said.role === 'user') return { role: 'user', content: partsOf(said).map(blockOf) }
  if (said.role === 'assistant')
    return {
      role: 'assistant',
      content: [
        ...partsOf(said).map(blockOf),
        ...toolCallsOf(said).map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input })),
      ],
    }
  if (said.role !== 'tool') throw refuse(`${said.field}.role`, `"${said.role}" cannot be translated`)
  const result = { type: 'tool_result', tool_use_id: textOr(said.message['tool_call_id']), content: textOf(said) }
  return { role: 'user', content: [result] }
}

const isSystem = ({ role }: Message): boolean => role === 'system' || role === 'developer'

/** Turns have to take turns: what follows from the same side is one. */
const turnsOf = (messages: readonly Message[]): JsonObject[] => {
  const turns: { role: string; content: JsonObject[] }[] = []
  for (const said of messages.filter(one => !isSystem(one))) {
    const turn = turnOf(said)
    const last = turns.at(-1)
    if (last?.role === turn.role) last.content.push(...turn.content)
    else turns.push(turn)
  }
  return turns
}

const toolChoice = (body: JsonObject): JsonObject | undefined => {
  const choice = toolChoiceOf(body)
  const isSingle = body['parallel_tool_calls'] === false
  if (!choice) return isSingle ? { type: 'auto', disable_parallel_tool_use: true } : undefined
  const { mode, name = '' } = choice
  const type = { auto: 'auto', none: 'none', required: 'any', one: 'tool' }[mode]
  if (!type) throw refuse('tool_choice', `"${mode}" is not auto, none, required or a function`)
  return {
    type,
    ...(name ? { name } : {}),
    ...(isSingle && type !== 'none' ? { disable_parallel_tool_use: true } : {}),
  }
}

const request = (body: JsonObject, { model }: TranslationContext): JsonObject => {
  needKnown(body, known, 'Anthropic')
  const messages = messagesOf(body)
  const system = messages.filter(isSystem).map(textOf).join('\n\n')
  const format = formatOf(body)
  if (format === 'json')
    throw refuse('response_format', 'json_object is nothing that Anthropic could be asked for; send a json_schema')
  const tools = toolsOf(body).map(tool => ({
    name: tool.name,
    description: tool.description,
    input_schema: tool.parameters,
  }))
  if (format && tools.length > 0) throw refuse('response_format', 'cannot be translated together with tools')
  return present({
    model,
    max_tokens: body['max_completion_tokens'] ?? body['max_tokens'] ?? usualMost,
    system: system || undefined,
    messages: turnsOf(messages),
    temperature: body['temperature'],
    top_p: body['top_p'],
    stop_sequences: stopsOf(body),
    stream: body['stream'],
    metadata: typeof body['user'] === 'string' ? { user_id: body['user'] } : undefined,
    tools: format
      ? [{ name: answerTool, description: 'Writes down the answer.', input_schema: format }]
      : tools.length > 0
        ? tools
        : undefined,
    tool_choice: format ? { type: 'tool', name: answerTool } : tools.length > 0 ? toolChoice(body) : undefined,
  })
}

const finishes: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

const usageOf = (usage: Json): SaidUsage => {
  const cached = count(member(usage, 'cache_read_input_tokens'))
  return {
    input: count(member(usage, 'input_tokens')) + cached + count(member(usage, 'cache_creation_input_tokens')),
    output: count(member(usage, 'output_tokens')),
    cached,
    reasoning: 0,
  }
}

const answer = (body: Json, context: TranslationContext): JsonObject => {
  const blocks = listOf(member(body, 'content'))
  const of = (type: string) => blocks.filter(block => member(block, 'type') === type)
  const used = of('tool_use')
  const shaped = used.find(block => member(block, 'name') === answerTool)
  const text = of('text')
    .map(block => textOr(member(block, 'text')))
    .join('')
  const calls = shaped
    ? []
    : used.map(block => ({
        id: textOr(member(block, 'id')),
        name: textOr(member(block, 'name')),
        arguments: JSON.stringify(member(block, 'input') ?? {}),
      }))
  const thought = of('thinking')
    .map(block => textOr(member(block, 'thinking')))
    .join('')
  const finish = shaped ? 'stop' : (finishes[textOr(member(body, 'stop_reason'))] ?? 'stop')
  const said = { text: shaped ? JSON.stringify(member(shaped, 'input')) : text, thought, calls, finish }
  return completion(context, [choice(0, said)], usageOf(member(body, 'usage')))
}

class Stream implements StreamTranslator {
  readonly #context: TranslationContext
  #usage: JsonObject = {}
  #calls = -1
  #isShaped = false

  constructor(context: TranslationContext) {
    this.#context = context
  }

  next(event: Json): readonly JsonObject[] {
    const type = textOr(member(event, 'type'))
    if (type === 'message_start') {
      this.#told(at(event, 'message.usage'))
      return [chunk(this.#context, { role: 'assistant', content: '' })]
    }
    if (type === 'content_block_start') return this.#begun(member(event, 'content_block'))
    if (type === 'content_block_delta') return this.#went(member(event, 'delta'))
    if (type === 'message_delta') {
      this.#told(member(event, 'usage'))
      const reason = textOr(at(event, 'delta.stop_reason'))
      const finish = this.#isShaped ? 'stop' : (finishes[reason] ?? 'stop')
      return reason ? [chunk(this.#context, {}, finish)] : []
    }
    if (type === 'message_stop' && this.#context.includeUsage) return [usageChunk(this.#context, usageOf(this.#usage))]
    return []
  }

  #told(usage: Json): void {
    if (isObject(usage)) this.#usage = { ...this.#usage, ...usage }
  }

  #begun(block: Json): readonly JsonObject[] {
    if (member(block, 'type') !== 'tool_use') return []
    const name = textOr(member(block, 'name'))
    this.#isShaped = name === answerTool
    if (this.#isShaped) return []
    this.#calls++
    return [chunk(this.#context, callDelta(this.#calls, { id: textOr(member(block, 'id')), name }))]
  }

  #went(delta: Json): readonly JsonObject[] {
    const type = member(delta, 'type')
    if (type === 'text_delta') return [chunk(this.#context, { content: textOr(member(delta, 'text')) })]
    if (type === 'thinking_delta')
      return [chunk(this.#context, { reasoning_content: textOr(member(delta, 'thinking')) })]
    if (type !== 'input_json_delta') return []
    const written = textOr(member(delta, 'partial_json'))
    if (this.#isShaped) return [chunk(this.#context, { content: written })]
    return [chunk(this.#context, callDelta(this.#calls, { arguments: written }))]
  }
}

export const anthropicChat: Translation = {
  request: (body, context) => ({ path: '/messages', body: request(body, context) }),
  answer,
  stream: context => new Stream(context),
}
