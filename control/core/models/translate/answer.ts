/** Answers in OpenAI's dialect, as they are said to the client. */
import { at, isObject, member, textOr, type Json, type JsonObject } from '../json.ts'
import type { TranslationContext } from './translation.ts'

export interface SaidUsage {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

const usageObject = ({ input, output, cached, reasoning }: SaidUsage): JsonObject => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
})

export const count = (value: Json): number => (typeof value === 'number' && value > 0 ? Math.round(value) : 0)

export interface SaidCall {
  readonly id: string
  readonly name: string
  /** JSON. */
  readonly arguments: string
}

const callObject = ({ id, name, arguments: given }: SaidCall): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: given },
})

export const choice = (
  index: number,
  said: {
    readonly text: string
    readonly thought?: string
    readonly calls: readonly SaidCall[]
    readonly finish: string
  },
): JsonObject => ({
  index,
  message: {
    role: 'assistant',
    content: said.text === '' && said.calls.length > 0 ? null : said.text,
    refusal: null,
    ...(said.thought ? { reasoning_content: said.thought } : {}),
    ...(said.calls.length > 0 ? { tool_calls: said.calls.map(callObject) } : {}),
  },
  logprobs: null,
  finish_reason: said.finish,
})

export const completion = (
  { id, created, model }: TranslationContext,
  choices: readonly JsonObject[],
  usage: SaidUsage,
): JsonObject => ({ id, object: 'chat.completion', created, model, choices, usage: usageObject(usage) })

export const chunk = (
  { id, created, model }: TranslationContext,
  delta: JsonObject,
  finish: string | null = null,
): JsonObject => ({
  id,
  object: 'chat.completion.chunk',
  created,
  model,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
})

export const usageChunk = (context: TranslationContext, usage: SaidUsage): JsonObject => ({
  ...chunk(context, {}),
  choices: [],
  usage: usageObject(usage),
})

/** Part of a call: its name with its beginning, then what its arguments go on with. */
export const callDelta = (index: number, part: { id?: string; name?: string; arguments?: string }): JsonObject => ({
  tool_calls: [
    {
      index,
      ...(part.id === undefined ? {} : { id: part.id, type: 'function' }),
      function: { ...(part.name === undefined ? {} : { name: part.name }), arguments: part.arguments ?? '' },
    },
  ],
})

/** A failure that a provider tells, in this dialect; undefined for what is none. */
export const errorObject = (body: Json): JsonObject | undefined => {
  const error = Array.isArray(body) ? at((body as readonly Json[])[0], 'error') : member(body, 'error')
  const words = textOr(member(error, 'message')) || textOr(error) || textOr(member(body, 'message'))
  const isError = error !== undefined || (isObject(body) && typeof body['message'] === 'string')
  if (!isError) return undefined
  const type = textOr(member(error, 'type')) || textOr(member(error, 'status')) || 'provider_error'
  return { error: { message: words || 'the provider failed', type, param: null, code: type } }
}
