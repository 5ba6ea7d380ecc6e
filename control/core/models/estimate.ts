/** Tokens of text, where nobody has counted them: by the tokenizer of a large model family, which is near enough for others. */
import { isObject, type Json } from './json.ts'

/** Beyond, a text counts as what its beginning would. */
const mostCounted = 64 * 1024

/** The tokenizer takes quadratic time for what has no word boundary. */
const pieceLength = 512

/** Without a tokenizer: English has about four letters to a token. */
export const roughTokens = (bytes: number): number => Math.ceil(bytes / 4)

let counting: Promise<(text: string) => number> | undefined

const load = async (): Promise<(text: string) => number> => {
  // Loaded when it is first needed: it takes memory that most hosts never spend.
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  return text => countTokens(text, { disallowedSpecial: new Set() })
}

/** At least 1 for any text. */
export const countTokens = async (text: string): Promise<number> => {
  if (text === '') return 0
  const count = await (counting ??= load())
  const counted = text.slice(0, mostCounted)
  let tokens = 0
  for (let at = 0; at < counted.length; at += pieceLength) tokens += count(counted.slice(at, at + pieceLength))
  return Math.max(1, Math.round((tokens * text.length) / counted.length))
}

/** Members that hold no text: pictures, sounds, files, addresses. */
const noText: ReadonlySet<string> = new Set([
  'data',
  'url',
  'image_url',
  'file_data',
  'b64_json',
  'model',
  'id',
  'type',
])

const mostDepth = 64

const collect = (value: Json, into: string[], depth: number): void => {
  if (depth > mostDepth) return
  if (typeof value === 'string') into.push(value)
  else if (Array.isArray(value)) for (const one of value as readonly Json[]) collect(one, into, depth + 1)
  else if (isObject(value))
    for (const [name, one] of Object.entries(value)) if (!noText.has(name)) collect(one, into, depth + 1)
}

/** All text of a request, whatever its dialect. */
export const textIn = (request: Json): string => {
  const found: string[] = []
  collect(request, found, 0)
  return found.join('\n')
}
