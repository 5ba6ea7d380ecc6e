/** Cohere's chat of the second version, and its embeddings. */
import { at, listOf, member, textOr, type Json } from '../json.ts'
import type { Dialect } from './dialect.ts'

const callsText = (calls: Json): string =>
  (Array.isArray(calls) ? listOf(calls) : [calls])
    .map(call => textOr(at(call, 'function.name')) + textOr(at(call, 'function.arguments')))
    .join('')

const messageText = (message: Json): string => {
  const content = member(message, 'content')
  const parts = Array.isArray(content) ? listOf(content) : [content]
  return (
    parts.map(part => textOr(member(part, 'text')) + textOr(member(part, 'thinking'))).join('') +
    textOr(member(message, 'tool_plan')) +
    callsText(member(message, 'tool_calls'))
  )
}

export const chat: Dialect = {
  name: 'cohere-chat',
  usage: {
    body: ['usage.tokens', 'usage.billed_units'],
    stream: ['delta.usage.tokens', 'delta.usage.billed_units'],
    marks: ['"usage":{', '"usage": {'],
  },
  counts: { sent: ['input_tokens'], received: ['output_tokens'], cached: 'cached_tokens' },
  textOf: answer => messageText(member(answer, 'message')) + messageText(at(answer, 'delta.message')),
  ends: ['"type":"message-end"', '"type": "message-end"', 'event: message-end'],
  errorEvent: message =>
    `event: message-end\ndata: ${JSON.stringify({ type: 'message-end', delta: { error: message, finish_reason: 'ERROR' } })}\n\n`,
  most: ['max_tokens'],
  namesModel: true,
}

export const embed: Dialect = {
  ...chat,
  name: 'cohere-embed',
  usage: { body: ['meta.billed_units'], stream: ['meta.billed_units'], marks: ['"usage":{', '"usage": {'] },
  counts: { sent: ['input_tokens', 'search_units'], received: [] },
  textOf: () => '',
  ends: [],
  most: [],
  silent: true,
}
