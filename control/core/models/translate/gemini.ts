/** Chats of OpenAI's dialect said to Gemini. */
import { at, listOf, member, textOr, type Json, type JsonObject } from '../json.ts'
import { callDelta, choice, chunk, completion, count, usageChunk, type SaidCall, type SaidUsage } from './answer.ts'
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
  'n',
  'frequency_penalty',
  'presence_penalty',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'response_format',
  'user',
]

const partOf = (part: Part, field: string): JsonObject => {
  if (part.type === 'text') return { text: part.text }
  if (part.type === 'image') return { inlineData: { mimeType: part.mediaType, data: part.data } }
  throw refuse(`${field}.content`, 'has a picture at an address; send it as a data URL')
}

const isSystem = ({ role }: Message): boolean => role === 'system' || role === 'developer'

/** Results are told by the name of what was called, not by the id of the call. */
const namesById = (messages: readonly Message[]): ReadonlyMap<string, string> =>
  new Map(messages.flatMap(one => toolCallsOf(one).map(({ id, name }) => [id, name] as const)))

const turnOf = (said: Message, names: ReadonlyMap<string, string>): { role: string; parts: JsonObject[] } => {
  const parts = () => partsOf(said).map(part => partOf(part, said.field))
  if (said.role === 'user') return { role: 'user', parts: parts() }
  if (said.role === 'assistant')
    return {
      role: 'model',
      parts: [...parts(), ...toolCallsOf(said).map(({ name, arguments: args }) => ({ functionCall: { name, args } }))],
    }
  if (said.role !== 'tool') throw refuse(`${said.field}.role`, `"${said.role}" cannot be translated`)
  const name = names.get(textOr(said.message['tool_call_id']))
  if (name === undefined) throw refuse(`${said.field}.tool_call_id`, 'names no call of a message before')
  return { role: 'user', parts: [{ functionResponse: { name, response: { result: textOf(said) } } }] }
}

const turnsOf = (messages: readonly Message[]): JsonObject[] => {
  const names = namesById(messages)
  const turns: { role: string; parts: JsonObject[] }[] = []
  for (const said of messages.filter(one => !isSystem(one))) {
    const turn = turnOf(said, names)
    const last = turns.at(-1)
    if (last?.role === turn.role) last.parts.push(...turn.parts)
    else turns.push(turn)
  }
  return turns
}

const toolConfig = (body: JsonObject): JsonObject | undefined => {
  const choice = toolChoiceOf(body)
  if (!choice) return undefined
  const mode = { auto: 'AUTO', none: 'NONE', required: 'ANY', one: 'ANY' }[choice.mode]
  if (!mode) throw refuse('tool_choice', `"${choice.mode}" is not auto, none, required or a function`)
  const names = choice.name ? { allowedFunctionNames: [choice.name] } : {}
  return { functionCallingConfig: { mode, ...names } }
}

const generationConfig = (body: JsonObject): JsonObject => {
  const format = formatOf(body)
  return present({
    temperature: body['temperature'],
    topP: body['top_p'],
    maxOutputTokens: body['max_completion_tokens'] ?? body['max_tokens'],
    stopSequences: stopsOf(body),
    seed: body['seed'],
    candidateCount: body['n'],
    frequencyPenalty: body['frequency_penalty'],
    presencePenalty: body['presence_penalty'],
    responseMimeType: format ? 'application/json' : undefined,
    responseJsonSchema: format === 'json' ? undefined : format,
  })
}

const request = (body: JsonObject): JsonObject => {
  needKnown(body, known, 'Gemini')
  if (body['stream'] === true && typeof body['n'] === 'number' && body['n'] > 1)
    throw refuse('n', 'must be 1 in a stream')
  const messages = messagesOf(body)
  const system = messages.filter(isSystem).map(textOf).join('\n\n')
  const tools = toolsOf(body).map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }))
  return present({
    contents: turnsOf(messages),
    systemInstruction: system ? { parts: [{ text: system }] } : undefined,
    generationConfig: generationConfig(body),
    tools: tools.length > 0 ? [{ functionDeclarations: tools }] : undefined,
    toolConfig: tools.length > 0 ? toolConfig(body) : undefined,
  })
}

const filtered = /SAFETY|RECITATION|BLOCKLIST|PROHIBITED|SPII|LANGUAGE|MALFORMED/

const finishOf = (reason: string, hasCalls: boolean): string => {
  if (reason === 'MAX_TOKENS') return 'length'
  if (filtered.test(reason)) return 'content_filter'
  return hasCalls ? 'tool_calls' : 'stop'
}

const usageOf = (body: Json): SaidUsage => {
  const usage = member(body, 'usageMetadata')
  const reasoning = count(member(usage, 'thoughtsTokenCount'))
  return {
    input: count(member(usage, 'promptTokenCount')) + count(member(usage, 'toolUsePromptTokenCount')),
    output: count(member(usage, 'candidatesTokenCount')) + reasoning,
    cached: count(member(usage, 'cachedContentTokenCount')),
    reasoning,
  }
}

interface SaidParts {
  readonly text: string
  readonly thought: string
  readonly calls: readonly SaidCall[]
}

/** `before` are calls that were told already. */
const partsSaid = (candidate: Json, { id }: TranslationContext, before = 0): SaidParts => {
  const parts = listOf(at(candidate, 'content.parts'))
  const texts = (isThought: boolean) =>
    parts
      .filter(part => (member(part, 'thought') === true) === isThought)
      .map(part => textOr(member(part, 'text')))
      .join('')
  const calls = parts.flatMap(part => member(part, 'functionCall') ?? [])
  return {
    text: texts(false),
    thought: texts(true),
    calls: calls.map((call, index) => ({
      id: textOr(member(call, 'id')) || `call_${id}_${before + index}`,
      name: textOr(member(call, 'name')),
      arguments: JSON.stringify(member(call, 'args') ?? {}),
    })),
  }
}

const answer = (body: Json, context: TranslationContext): JsonObject => {
  const choices = listOf(member(body, 'candidates')).map((candidate, index) => {
    const said = partsSaid(candidate, context)
    return choice(index, {
      ...said,
      finish: finishOf(textOr(member(candidate, 'finishReason'), 'STOP'), said.calls.length > 0),
    })
  })
  const blocked = choice(0, { text: '', calls: [], finish: 'content_filter' })
  return completion(context, choices.length > 0 ? choices : [blocked], usageOf(body))
}

class Stream implements StreamTranslator {
  readonly #context: TranslationContext
  #hasBegun = false
  #calls = 0

  constructor(context: TranslationContext) {
    this.#context = context
  }

  next(event: Json): readonly JsonObject[] {
    const context = this.#context
    const [candidate] = listOf(member(event, 'candidates'))
    const chunks: JsonObject[] = []
    if (!this.#hasBegun) chunks.push(chunk(context, { role: 'assistant', content: '' }))
    this.#hasBegun = true
    const { text, thought, calls } = partsSaid(candidate, context, this.#calls)
    if (thought) chunks.push(chunk(context, { reasoning_content: thought }))
    if (text) chunks.push(chunk(context, { content: text }))
    for (const call of calls) chunks.push(chunk(context, callDelta(this.#calls++, call)))
    const isBlocked = candidate === undefined && at(event, 'promptFeedback.blockReason') !== undefined
    const reason = isBlocked ? 'SAFETY' : textOr(member(candidate, 'finishReason'))
    if (reason) chunks.push(chunk(context, {}, finishOf(reason, this.#calls > 0)))
    if (reason && context.includeUsage) chunks.push(usageChunk(context, usageOf(event)))
    return chunks
  }
}

export const geminiChat: Translation = {
  request: (body, { model }) => ({
    path: `/models/${model}:${body['stream'] === true ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: request(body),
  }),
  answer,
  stream: context => new Stream(context),
}
