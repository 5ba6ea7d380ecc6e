/** Anthropic's messages. */
import { at, listOf, member, textOr, type Json } from '../json.ts'
import type { Dialect } from './dialect.ts'

const blockText = (block: Json): string => {
  const input = member(block, 'input')
  const written = ['text', 'thinking', 'partial_json'].map(name => textOr(member(block, name))).join('')
  // A tool's input is empty in the event that announces it.
  return input && Object.keys(input).length > 0 ? written + JSON.stringify(input) : written
}

export const messages: Dialect = {
  name: 'anthropic-messages',
  usage: { body: ['usage'], stream: ['usage', 'message.usage'], marks: ['"usage":{', '"usage": {'] },
  counts: {
    // What came from a cache is not among the input tokens here.
    sent: ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
    received: ['output_tokens'],
    cached: 'cache_read_input_tokens',
  },
  textOf: answer =>
    blockText(member(answer, 'delta')) +
    blockText(at(answer, 'content_block')) +
    listOf(member(answer, 'content')).map(blockText).join(''),
  ends: ['event: message_stop', '"type":"message_stop"', '"type": "message_stop"'],
  errorEvent: message =>
    `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'api_error', message } })}\n\n`,
  most: ['max_tokens'],
  namesModel: true,
}
