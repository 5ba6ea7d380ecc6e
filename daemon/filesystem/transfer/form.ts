/** Reads multipart/form-data in the order it comes, each file as content that is never held in memory. */
import busboy from 'busboy'
import { fail, messageOf } from '../../../shared/errors.ts'
import type { Request } from '../../../shared/route.ts'
import type { BodyDetacher } from '../../node-internals/detach-body.ts'
import { delimiterOf, createFormFeeder } from './form-feeder.ts'
import { streamContent, type Incoming } from './incoming.ts'
import { discard, consume } from './consume.ts'

interface FormReader {
  /** A part without a file name; `value` holds its bytes as latin1, cut at `fieldLimit`. May throw. */
  field(name: string, value: string, cut: boolean): void
  /**
   * A part with a file name (or of type octet-stream): answers a function that takes its content; undefined discards
   * it.
   */
  file(name: string): ((content: Incoming) => Promise<void>) | undefined
}

interface FormOptions {
  /** Bytes. */
  readonly fieldLimit: number
  /** The contents can tell their MD5. */
  readonly hashing?: boolean
  readonly detacher: BodyDetacher
}

/** Bytes of a failed upload that are still read, so that a client that reads only after sending sees the answer. */
const drainLimit = 64 * 1024 * 1024

const parserOf = ({ headers }: Request, fieldSize: number): busboy.Busboy => {
  try {
    return busboy({
      headers: { ...headers, 'content-type': String(headers['content-type'] ?? '') },
      fileHwm: 1024 * 1024,
      highWaterMark: 1024 * 1024,
      defCharset: 'latin1',
      limits: { fieldSize },
    })
  } catch (error) {
    throw fail('invalid_body', { reason: messageOf(error) }, error)
  }
}

/**
 * Resolves when the form and all its files were handled. Throws `invalid_body` when the form is malformed or
 * incomplete, else the first failure of a reader. The request stays open, so that it can be answered.
 */
export const readForm = async (request: Request, reader: FormReader, options: FormOptions): Promise<void> => {
  const { body } = request
  const { fieldLimit, hashing = false, detacher } = options
  const parser = parserOf(request, fieldLimit)
  const files: Promise<void>[] = []
  const failure = new AbortController()
  const { signal } = failure
  const failing = (error: unknown) => failure.abort(error)
  const malformed = (error: unknown) => failing(fail('invalid_body', { reason: messageOf(error) }, error))
  const { take, bypass, settled } = createFormFeeder(parser, body, {
    detacher,
    delimiter: delimiterOf(detacher, request),
    hashing,
    signal,
  })
  parser.on('field', (name, value, info) => {
    try {
      if (!signal.aborted) reader.field(name ?? '', value, info.valueTruncated)
    } catch (error) {
      failing(error)
    }
  })
  parser.on('file', (name, content) => {
    // First in line, since a form that ends within a file is the form's fault and not the writer's.
    content.on('error', malformed)
    const write = signal.aborted ? undefined : reader.file(name ?? '')
    if (!write) return void content.resume()
    const passed = bypass(write)
    if (passed) content.resume()
    const work = passed ?? write(streamContent(content, hashing))
    files.push(work)
    work.catch(failing)
  })
  parser.on('error', malformed)
  const parsed = new Promise<void>((resolve, reject) => {
    parser.on('close', resolve)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  // Awaited at the end; an earlier failure aborts the reading of the body, which reports it.
  parsed.catch(() => {})
  try {
    await consume(body, take, signal)
    parser.end()
    await parsed
    await Promise.all(files)
  } catch (error) {
    // Ends the file streams, so that their writers stop and clean up before the answer leaves.
    parser.destroy()
    await Promise.allSettled(files)
    await settled()
    await discard(body, drainLimit)
    throw error
  }
}
