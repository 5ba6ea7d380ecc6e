/** Sends an opened file as bytes: by the kernel where it can, else with large reads into two buffers that are reused. */
import type { Writable } from 'node:stream'
import { fail } from '../../../shared/errors.ts'
import { json, reply, type Body, type Context, type Pump, type Reply } from '../../../shared/route.ts'
import { precondition, rangesOf, validators, type Span, type Validators } from './conditions.ts'
import { attachment, contentType } from './content-type.ts'
import { dropFd, readAll, readFd } from '../descriptor.ts'
import { nameOf } from '../describe.ts'
import { asUnprocessable } from '../failures.ts'
import type { FileSender } from '../../node-internals/send-file.ts'
import type { Opened } from '../read.ts'

const blockBytes = 1024 * 1024

/** Resolves when the connection has taken the chunk, so that its buffer may be used again. */
const written = (out: Writable, chunk: Uint8Array, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const gone = () => reject(new Error('the client went away'))
    if (signal.aborted || out.destroyed) return gone()
    signal.addEventListener('abort', gone, { once: true })
    out.write(chunk, error => {
      signal.removeEventListener('abort', gone)
      if (error) reject(error)
      else resolve()
    })
  })

const lengthOf = ({ from, to }: Span): number => to - from + 1

/** Reads and writes the bytes of `span`; throws when the file has become shorter, which cuts the connection. */
const copySpan =
  (fd: number, span: Span): Pump =>
  async (out, signal) => {
    const buffers = [0, 1].map(() => Buffer.allocUnsafeSlow(Math.min(blockBytes, lengthOf(span))))
    let position = span.from
    const end = span.to + 1
    const next = async (index: number): Promise<Buffer> => {
      const buffer = buffers[index % 2] as Buffer
      const wanted = buffer.subarray(0, Math.min(buffer.length, end - position))
      const count = await readFd(fd, wanted, position)
      if (count === 0) throw fail('operation_failed', { reason: 'the file became shorter while it was sent' })
      position += count
      return wanted.subarray(0, count)
    }
    let reading: Promise<Buffer> | undefined
    try {
      reading = next(0)
      for (let index = 1; reading; index++) {
        const chunk: Buffer = await reading
        // The next block is read while this one is sent; a slow client delays both.
        reading = position < end ? next(index) : undefined
        const sent = written(out, chunk, signal)
        await (reading ? Promise.all([sent, reading]) : sent)
      }
    } finally {
      // The descriptor must not be closed during a read: its number may mean another file by then.
      await reading?.catch(() => {
        // The first failure is the one that is reported.
      })
    }
  }

/** Sends the bytes of `span`; what the kernel does not send is copied. Throws as `copySpan`. */
const sendSpan = async (sendFile: FileSender, fd: number, span: Span, ...to: Parameters<Pump>): Promise<void> => {
  const [out, signal] = to
  const count = lengthOf(span)
  const sent = await sendFile(out, { fd, from: span.from, count }, signal)
  if (sent < count) await copySpan(fd, { ...span, from: span.from + sent })(out, signal)
}

/** Sends the pieces, text or bytes of the file, in order, and closes the file. */
const pump =
  (sendFile: FileSender, fd: number, pieces: readonly (string | Span)[]): Pump =>
  async (out, signal) => {
    try {
      for (const piece of pieces)
        if (typeof piece === 'string') await written(out, Buffer.from(piece), signal)
        else await sendSpan(sendFile, fd, piece, out, signal)
    } finally {
      dropFd(fd)
    }
  }

/** Several ranges as the parts of one body (RFC 9110, section 14.6). */
const inParts = (spans: readonly Span[], size: number, type: string, boundary: string) => {
  const pieces = spans.flatMap((span, index) => [
    `${index === 0 ? '' : '\r\n'}--${boundary}\r\ncontent-type: ${type}\r\ncontent-range: bytes ${span.from}-${span.to}/${size}\r\n\r\n`,
    span,
  ])
  pieces.push(`\r\n--${boundary}--\r\n`)
  const length = pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? piece.length : lengthOf(piece)), 0)
  return { pieces, length }
}

/** Sends a file of unknown size: files of /proc report 0 bytes and have content. `head` was read already. */
const pumpUnsized =
  (fd: number, head: Buffer): Pump =>
  async (out, signal) => {
    try {
      await written(out, head, signal)
      const buffer = Buffer.allocUnsafeSlow(64 * 1024)
      for (let count = await readFd(fd, buffer, null); count > 0; count = await readFd(fd, buffer, null))
        await written(out, buffer.subarray(0, count), signal)
    } finally {
      dropFd(fd)
    }
  }

/** Closes the descriptor when the client leaves before the body is begun: then nobody runs the pump. */
const guarded = (fd: number, signal: AbortSignal, body: Pump): Pump => {
  let begun = false
  signal.addEventListener('abort', () => {
    if (!begun) dropFd(fd)
  })
  return (out, stop) => {
    begun = true
    return body(out, stop)
  }
}

/** Files up to a page are read at once: those of /sys report a page and have less. */
const pageBytes = 4096

const gathered = (bytes: Buffer, pieces: readonly (string | Span)[]): Buffer =>
  Buffer.concat(
    pieces.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : bytes.subarray(piece.from, piece.to + 1))),
  )

/** The answer to a request for `size` bytes: 200, 206 or 416. */
const rangedReply = (
  { request, requestId }: Context,
  file: { size: number; valid: Validators; headers: Readonly<Record<string, string>> },
  body: (pieces: readonly (string | Span)[]) => Body,
): Reply => {
  const { size, valid, headers } = file
  const spans = rangesOf(request, size, valid)
  if (spans === 'unsatisfiable') {
    const range = { 'content-range': `bytes */${size}` }
    return json({ error: `the range is beyond the ${size} bytes of the file` }, { status: 416, headers: range })
  }
  if (spans && spans.length > 1) {
    const boundary = `part-${requestId.slice(0, 60)}`
    const { pieces, length } = inParts(spans, size, headers['content-type'] as string, boundary)
    const type = { 'content-type': `multipart/byteranges; boundary="${boundary}"`, 'content-length': String(length) }
    return reply(206, { ...headers, ...type }, body(pieces))
  }
  const span = spans?.[0] ?? { from: 0, to: size - 1 }
  const more = { 'content-length': String(lengthOf(span)) }
  if (!spans) return reply(200, { ...headers, ...more }, body([span]))
  return reply(206, { ...headers, ...more, 'content-range': `bytes ${span.from}-${span.to}/${size}` }, body([span]))
}

/** The answer with the file's bytes: 200, 206, 304, 412 or 416. Takes over the descriptor. */
export const download = async (
  opened: Opened,
  shown: string,
  { context, sendFile }: { readonly context: Context; readonly sendFile: FileSender },
): Promise<Reply> => {
  const { fd, stat, content } = opened
  const { request, signal } = context
  const valid = validators(stat)
  const headers: Record<string, string> = {
    'content-type': contentType(shown),
    'content-disposition': attachment(nameOf(shown)),
    'last-modified': valid.lastModified,
    etag: valid.etag,
    'accept-ranges': 'bytes',
  }
  const early = (answer: Reply): Reply => {
    dropFd(fd)
    return answer
  }
  if (signal.aborted) return early(reply(499))
  const status = precondition(request, valid)
  if (status === 304) return early(reply(304, headers))
  if (status === 412) return early(json({ error: 'the file is not as the condition wants it' }, { status }))
  if (stat.size === 0) {
    try {
      const head = Buffer.allocUnsafe(64 * 1024)
      const count = await readFd(fd, head, null)
      if (count === 0) return early(reply(200, { ...headers, 'content-length': '0' }))
      return reply(200, headers, guarded(fd, signal, pumpUnsized(fd, head.subarray(0, count))))
    } catch (error) {
      dropFd(fd)
      throw asUnprocessable(error)
    }
  }
  const ranged = (size: number, body: (pieces: readonly (string | Span)[]) => Body): Reply =>
    rangedReply(context, { size, valid, headers }, body)
  if (content) return ranged(content.length, pieces => gathered(content, pieces))
  if (stat.size <= pageBytes) {
    const bytes = await readAll(fd, stat.size, pageBytes)
      .catch(error => {
        throw asUnprocessable(error)
      })
      .finally(() => dropFd(fd))
    return ranged(bytes.length, pieces => gathered(bytes, pieces))
  }
  const answer = ranged(stat.size, pieces => guarded(fd, signal, pump(sendFile, fd, pieces)))
  return answer.status === 416 ? early(answer) : answer
}
