/** What OpenAI speaks, and with it most others: chat completions, completions, responses, embeddings. */
import { at, isObject, listOf, member, textOr, type Json } from '../json.ts'
import type { Dialect } from './dialect.ts'

const errorEvent = (message: string): string =>
  `data: ${JSON.stringify({ error: { message, type: 'upstream_error', code: 'upstream_failed', param: null } })}\n\n`

const counts = {
  sent: ['prompt_tokens'],
  received: ['completion_tokens'],
  cached: 'prompt_tokens_details.cached_tokens',
  reasoning: 'completion_tokens_details.reasoning_tokens',
} as const

const partText = (content: Json): string =>
  typeof content === 'string'
    ? content
    : listOf(content)
        .map(part => textOr(member(part, 'text')))
        .join('')

/** Of a message or a delta: text, refusals, reasoning and the arguments of tool calls. */
const spoken = (message: Json): string =>
  [
    partText(member(message, 'content')),
    ...['refusal', 'reasoning', 'reasoning_content'].map(name => textOr(member(message, name))),
    ...listOf(member(message, 'tool_calls')).map(
      call => textOr(at(call, 'function.name')) + textOr(at(call, 'function.arguments')),
    ),
  ].join('')

export const chat: Dialect = {
  name: 'openai-chat',
  usage: { body: ['usage'], stream: ['usage', 'x_groq.usage'], marks: ['"usage":{', '"usage": {'] },
  counts,
  textOf: answer =>
    listOf(member(answer, 'choices'))
      .map(choice => spoken(member(choice, 'message') ?? member(choice, 'delta')) + textOr(member(choice, 'text')))
      .join(''),
  ends: ['data: [DONE]', 'data:[DONE]', '"finish_reason":"', '"finish_reason": "'],
  errorEvent,
  most: ['max_completion_tokens', 'max_tokens'],
  namesModel: true,
  askUsage: { absent: 'stream_options', member: '"stream_options":{"include_usage":true}' },
}

export const completions: Dialect = { ...chat, name: 'openai-completions', unlisted: true }

const responseText = (response: Json): string =>
  listOf(member(response, 'output'))
    .map(item => partText(member(item, 'content')) + textOr(member(item, 'arguments')))
    .join('')

const responseEvent = (event: Json): string =>
  textOr(member(event, 'type')).endsWith('.delta') ? textOr(member(event, 'delta')) : ''

export const responses: Dialect = {
  name: 'openai-responses',
  usage: { body: ['usage'], stream: ['response.usage', 'usage'], marks: ['"usage":{', '"usage": {'] },
  counts: {
    sent: ['input_tokens'],
    received: ['output_tokens'],
    cached: 'input_tokens_details.cached_tokens',
    reasoning: 'output_tokens_details.reasoning_tokens',
  },
  textOf: answer => (isObject(answer) && 'output' in answer ? responseText(answer) : responseEvent(answer)),
  ends: ['response.completed', 'response.incomplete', 'response.failed'].flatMap(type => [
    `"type":"${type}"`,
    `"type": "${type}"`,
  ]),
  errorEvent: message =>
    `event: error\ndata: ${JSON.stringify({ type: 'error', code: 'upstream_failed', message, param: null, sequence_number: 0 })}\n\n`,
  most: ['max_output_tokens'],
  namesModel: true,
}

export const embeddings: Dialect = {
  name: 'openai-embeddings',
  usage: { body: ['usage'], stream: ['usage'], marks: ['"usage":{', '"usage": {'] },
  counts: { sent: ['prompt_tokens'], received: [] },
  textOf: () => '',
  ends: [],
  errorEvent,
  most: [],
  namesModel: true,
  silent: true,
}

/** A path that no descriptor names: what it tells in the usual places is believed. */
export const unknown: Dialect = {
  name: 'unknown',
  usage: { body: ['usage', 'usageMetadata'], stream: ['usage', 'response.usage', 'usageMetadata'], marks: ['"usage'] },
  counts: {
    sent: ['prompt_tokens', 'input_tokens', 'promptTokenCount'],
    received: ['completion_tokens', 'output_tokens', 'candidatesTokenCount'],
  },
  textOf: () => '',
  ends: [],
  errorEvent,
  most: [],
  silent: true,
}
