/** What an answer holds: bounded, parsed, and held against what its route declares. */
import { fail } from '../../errors.ts'
import { problemsOf, type Out, type Shape } from '../../schema.ts'
import { failureOf } from './failure.ts'
import type { AnyRoute } from './input.ts'
import type { Answered } from './transport.ts'

/** More of a failure is not read. */
const maxFailureBytes = 64 * 1024

const read = async (pieces: AsyncIterable<Buffer>, limit: number): Promise<{ bytes: Buffer; whole: boolean }> => {
  const taken: Buffer[] = []
  let left = limit
  for await (const piece of pieces) {
    taken.push(piece.subarray(0, left))
    if (piece.length > left) return { bytes: Buffer.concat(taken), whole: false }
    left -= piece.length
  }
  return { bytes: Buffer.concat(taken), whole: true }
}

/** Throws the failure that the answer is, if it is one; a status that the route declares beside 200 is none. */
export const throwFailure = async (route: AnyRoute, { status, pieces }: Answered): Promise<void> => {
  if (status >= 200 && (status < 300 || (status < 400 && Object.hasOwn(route.statuses, status)))) return
  const { bytes } = await read(pieces, maxFailureBytes)
  throw failureOf(route, status, bytes.toString())
}

/** The value that `text` holds as JSON, as `shape` declares it. Throws `bad_answer`. */
export const checked = <S extends Shape>(shape: S, text: string, from: string): Out<S> => {
  let value: unknown
  try {
    value = text === '' ? undefined : JSON.parse(text)
  } catch (error) {
    throw fail('bad_answer', { from, reason: 'not JSON' }, error)
  }
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const [problem] = problemsOf(shape, value)
  throw fail('bad_answer', { from, reason: [problem?.field, problem?.reason].filter(Boolean).join(': ') })
}

/** All of an answer that is not JSON. Throws `bad_answer` for more than `maxBytes`. */
export const bytesOf = async (
  pieces: AsyncIterable<Buffer>,
  { from, maxBytes }: { from: string; maxBytes: number },
): Promise<Buffer> => {
  const { bytes, whole } = await read(pieces, maxBytes)
  if (!whole) throw fail('bad_answer', { from, reason: `more than ${maxBytes} bytes` })
  return bytes
}

/** The answer's JSON of at most `maxBytes`. Throws `bad_answer`. */
export const jsonOf = async <S extends Shape>(
  shape: S,
  { status, headers, pieces, cancel }: Answered,
  { from, maxBytes }: { from: string; maxBytes: number },
): Promise<Out<S>> => {
  const type = headers['content-type'] ?? ''
  if (status !== 204 && !/^application\/(json|[\w.-]+\+json)\b/i.test(type)) {
    cancel()
    throw fail('bad_answer', { from, reason: type ? `${type} instead of JSON; read it as a stream` : 'no JSON' })
  }
  return checked(shape, (await bytesOf(pieces, { from, maxBytes })).toString(), from)
}
