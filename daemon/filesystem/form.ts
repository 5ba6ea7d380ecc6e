/** Reads multipart/form-data in the order it comes, each file as content that is never held in memory. */
import busboy from 'busboy'
import { fail, messageOf } from '../../shared/errors.ts'
import { mayTake } from '../../shared/http/take-body.ts'
import type { Request } from '../../shared/route.ts'
import { leastToReceive, receive, streamed, type Incoming, type Received } from './incoming.ts'
import { discard, pour } from './sink.ts'

export interface FormReader {
  /** A part without a file name; `value` holds its bytes as latin1, cut at `fieldLimit`. May throw. */
  field(name: string, value: string, cut: boolean): void
  /** A part with a file name (or of type octet-stream): who takes its content; undefined drains it unread. */
  file(name: string): ((content: Incoming) => Promise<void>) | undefined
}

export interface FormOptions {
  /** Bytes. */
  readonly fieldLimit: number
  /** Whether the contents can tell their MD5. */
  readonly hashing?: boolean
}

/** What of a failed upload is still read, so that a client that sends all before it reads sees the answer. Bytes. */
const drainLimit = 64 * 1024 * 1024
/** Parts that are looked at as they begin: a form of many is no large file. */
const mostHeads = 100
const headEnd = Buffer.from('\r\n\r\n')

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

/** What ends a part, of the plain forms that clients send; undefined when the parser is to find it. */
const delimiterOf = ({ headers, body }: Request): Buffer | undefined => {
  if (!mayTake(body, leastToReceive)) return undefined
  const type = String(headers['content-type'])
  const match = /^multipart\/form-data; ?boundary=(?:"([^"\\]+)"|([^\s;"]+))$/i.exec(type)
  return match ? Buffer.from(`\r\n--${match[1] ?? match[2]}`, 'latin1') : undefined
}

/**
 * Resolves when the form and all its files are dealt with. Throws `invalid_body` when it is no whole form, else the
 * first failure of a reader. The request stays open, so that it can be answered.
 */
export const readForm = async (request: Request, reader: FormReader, options: FormOptions): Promise<void> => {
  const { body } = request
  const { fieldLimit, hashing = false } = options
  const parser = parserOf(request, fieldLimit)
  const delimiter = delimiterOf(request)
  const files: Promise<void>[] = []
  const failure = new AbortController()
  const { signal } = failure
  const failing = (error: unknown) => failure.abort(error)
  const malformed = (error: unknown) => failing(fail('invalid_body', { reason: messageOf(error) }, error))
  let heads = delimiter ? mostHeads : 0
  let taken = 0
  /** What the parser was given last is the end of a head. */
  let headEnded = false
  /** What comes right behind the head that the parser is reading now, when that is known. */
  let behindHead: Buffer | undefined
  let hold = () => {}
  /** A file on its way past the parser. */
  let passing: Promise<void> | undefined

  const feed = (chunk: Buffer): Promise<void> | undefined =>
    parser.write(chunk) ? undefined : new Promise(resolve => void parser.once('drain', resolve))
  /** The parser holds back what a delimiter may begin with, such as the end of a head: it hears of a file one byte late. */
  const begin = (content: Buffer, delimiter: Buffer): Promise<void> | undefined => {
    const different = content.findIndex((byte, index) => byte !== delimiter[index])
    if (different < 0 || parser.writableLength > 0) return parse(content)
    behindHead = content
    const full = feed(content.subarray(0, different + 1))
    behindHead = undefined
    const rest = content.subarray(different + 1)
    return passing ?? (full ? full.then(() => parse(rest)) : parse(rest))
  }
  const parse = (chunk: Buffer): Promise<void> | undefined => {
    if (chunk.length === 0) return undefined
    if (headEnded && delimiter) {
      headEnded = false
      return begin(chunk, delimiter)
    }
    const at = heads > 0 ? chunk.indexOf(headEnd) : -1
    if (at < 0) return feed(chunk)
    heads--
    headEnded = true
    const rest = chunk.subarray(at + headEnd.length)
    const full = feed(chunk.subarray(0, at + headEnd.length))
    return full ? full.then(() => parse(rest)) : parse(rest)
  }
  /** The parser is given what surrounds the content, and so sees an empty file. */
  const pass = async ({ ended, release }: Received, work: Promise<void>): Promise<void> => {
    await Promise.race([ended, work]).catch(() => {
      // Told by `failing`.
    })
    const { behind, taken: more } = await release()
    taken += more
    passing = undefined
    if (!signal.aborted) await parse(behind)
  }

  parser.on('field', (name, value, info) => {
    try {
      if (!signal.aborted) reader.field(name ?? '', value, info.valueTruncated)
    } catch (error) {
      failing(error)
    }
  })
  parser.on('file', (name, content) => {
    // Heard here first, since the form ending within a file is the form's fault and not the writer's.
    content.on('error', malformed)
    const writer = signal.aborted ? undefined : reader.file(name ?? '')
    if (!writer) return void content.resume()
    if (behindHead) hold()
    const received = behindHead && receive(body, { taken, ahead: behindHead, delimiter, hashing })
    const work = writer(received?.incoming ?? streamed(content, hashing))
    files.push(work)
    work.catch(failing)
    if (!received) return
    content.resume()
    passing = pass(received, work)
  })
  parser.on('error', malformed)
  const parsed = new Promise<void>((resolve, reject) => {
    parser.on('close', resolve)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  parsed.catch(() => {})
  try {
    const take = (chunk: Buffer, holdBody: () => void) => {
      hold = holdBody
      taken += chunk.length
      return parse(chunk)
    }
    await pour(body, take, signal)
    parser.end()
    await parsed
    await Promise.all(files)
  } catch (error) {
    // Ends the file streams, so that their writers stop and clean up before the answer leaves.
    parser.destroy()
    await Promise.allSettled(files)
    await passing?.catch(() => {})
    await discard(body, drainLimit)
    throw error
  }
}
