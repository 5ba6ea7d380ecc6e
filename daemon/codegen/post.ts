import { fail, messageOf } from '../../shared/errors.ts'
import { parse, type Out, type Shape } from '../../shared/schema.ts'

const timeoutMs = 120_000
const shownBytes = 512

export interface Endpoint {
  readonly key: string
  /** Base address without a slash at its end. */
  readonly url: string
}

/** Posts JSON with a bearer token and reads an answer of that shape. Throws `unprocessable`; the key is never shown. */
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
    const text = await answer.text()
    if (!answer.ok) throw new Error(`answered ${answer.status}: ${text.slice(0, shownBytes)}`)
    return parse(shape, JSON.parse(text), 'config')
  } catch (error) {
    const cause = error instanceof Error && error.cause ? ` (${messageOf(error.cause)})` : ''
    throw fail('unprocessable', { reason: `codegen provider ${url}${path}: ${messageOf(error)}${cause}` }, error)
  }
}
