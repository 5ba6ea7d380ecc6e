/** Gemini's `generateContent` and `streamGenerateContent`, and its embeddings. */
import { at, isObject, listOf, member, textOr, type Json } from '../json.ts'
import type { Dialect } from './dialect.ts'

const partText = (part: Json): string => {
  const call = member(part, 'functionCall')
  return textOr(member(part, 'text')) + (isObject(call) ? JSON.stringify(call) : '')
}

const ofOne = (answer: Json): string =>
  listOf(member(answer, 'candidates'))
    .flatMap(candidate => listOf(at(candidate, 'content.parts')).map(partText))
    .join('')

export const generate: Dialect = {
  name: 'gemini-generate',
  usage: { body: ['usageMetadata'], stream: ['usageMetadata'], marks: ['"usageMetadata"'] },
  counts: {
    sent: ['promptTokenCount', 'toolUsePromptTokenCount'],
    // What it thought is not among its candidates.
    received: ['candidatesTokenCount', 'thoughtsTokenCount'],
    cached: 'cachedContentTokenCount',
    reasoning: 'thoughtsTokenCount',
  },
  // Without `alt=sse` a stream is a list.
  textOf: answer => (Array.isArray(answer) ? listOf(answer).map(ofOne).join('') : ofOne(answer)),
  ends: ['"finishReason":"', '"finishReason": "', '"blockReason"'],
  errorEvent: message => `data: ${JSON.stringify({ error: { code: 502, message, status: 'UNAVAILABLE' } })}\n\n`,
  most: ['generationConfig.maxOutputTokens'],
}

export const embed: Dialect = {
  ...generate,
  name: 'gemini-embed',
  counts: { sent: ['promptTokenCount'], received: [] },
  textOf: () => '',
  ends: [],
  most: [],
  silent: true,
}
