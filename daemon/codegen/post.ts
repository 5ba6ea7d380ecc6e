import { fail, messageOf } from '../../shared/errors.ts'
import { parse, type Out, type Shape } from '../../shared/schema.ts'

const timeoutMs = 120_000
const shownBytes = 512
/** Limit of an answer in bytes: a merged file, or the scores of many files. */
const maxBytes = 64 * 1024 * 1024

export interface Endpoint {
  readonly key: string
  /** Base address without a slash at its end. */
  readonly url: string
}

const boundedText = async (answer: Response): Promise<string> => {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of answer.body ?? []) {
    length += piece.length
    if (length > maxBytes) throw new Error(`answered with more than ${maxBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

const refusal = ({ status, headers }: Response, text: string): Error => {
  const after = headers.get('retry-after')
  return new Error(`answered ${status}${after ? ` (try again after ${after})` : ''}: ${text.slice(0, shownBytes)}`)
}

/**
 * Posts JSON with a bearer token and parses the answer with the given schema. Throws `unprocessable`; its message never
 * contains the key.
 */
export const post = async <S extends Shape>(
  { key, url }: Endpoint,
  path: string,
  body: unknown,
  shape: S,
  signal: AbortSignal,
): Promise<Out<S>> => {
  try {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      redirect: 'error',
    })
    const text = await boundedText(answer)
    if (!answer.ok) throw refusal(answer, text)
    return parse(shape, JSON.parse(text), 'config')
  } catch (error) {
    const cause = error instanceof Error && error.cause ? ` (${messageOf(error.cause)})` : ''
    // Some providers, and fetch itself, repeat a refused key in their message.
    const reason = `codegen provider ${url}${path}: ${messageOf(error)}${cause}`.replaceAll(key, '[REDACTED]')
    throw fail('unprocessable', { reason })
  }
}
