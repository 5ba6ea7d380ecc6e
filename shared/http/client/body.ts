/** What a call sends. */
import { randomUUID } from 'node:crypto'
import { finished, Readable, Transform } from 'node:stream'
import { fail } from '../../errors.ts'
import { jsonText } from '../../route.ts'
import type { Deadline } from './deadline.ts'
import type { AnyInput, AnyRoute, Bytes, Form } from './input.ts'

export interface RequestBody {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | Upload | undefined
}

/** A body that is read as it is sent. */
export interface Upload {
  readonly source: Readable
  /** What comes before and after it. */
  readonly around: readonly [before: Buffer, after: Buffer]
}

const nothing = Buffer.alloc(0)

const isBytes = (value: unknown): value is Bytes =>
  typeof value === 'string' || value instanceof Uint8Array || value instanceof Readable

/** A name within a header of a form (RFC 7578, section 2; WHATWG's escapes). */
const quoted = (name: string): string =>
  name.replace(/["\r\n]/g, char => `%${char.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`)

const formBody = ({ file, fields = {} }: Form): RequestBody => {
  const boundary = `form-${randomUUID()}`
  const begin = (rest: string) => `--${boundary}\r\ncontent-disposition: form-data; ${rest}\r\n\r\n`
  const texts = Object.entries(fields).map(([name, value]) => `${begin(`name="${quoted(name)}"`)}${value}\r\n`)
  const before = Buffer.from(
    `${texts.join('')}${begin('name="file"; filename="file"\r\ncontent-type: application/octet-stream')}`,
  )
  const after = Buffer.from(`\r\n--${boundary}--\r\n`)
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body:
      file instanceof Readable
        ? { source: file, around: [before, after] }
        : Buffer.concat([before, Buffer.from(file), after]),
  }
}

/** Headers and body of the request: JSON, bytes or a form. Throws `invalid_argument` for what the route does not take. */
export const requestBody = ({ id, accepts }: AnyRoute, { body, form }: AnyInput): RequestBody => {
  if (form !== undefined) {
    if (accepts !== 'stream') throw fail('invalid_argument', { field: 'form', reason: `${id} takes no form` })
    return formBody(form)
  }
  if (body === undefined) return { headers: {}, body: undefined }
  if (accepts === 'none') throw fail('invalid_argument', { field: 'body', reason: `${id} takes no body` })
  if (accepts === 'stream' && isBytes(body))
    return {
      headers: { 'content-type': 'application/octet-stream' },
      body:
        body instanceof Readable
          ? { source: body, around: [nothing, nothing] }
          : typeof body === 'string'
            ? Buffer.from(body)
            : body,
    }
  return { headers: { 'content-type': 'application/json' }, body: jsonText(body) }
}

/**
 * The stream that is sent. Every piece restarts the time limit; an error of the source aborts the call with it; when the call
 * ends, the source is destroyed.
 */
export const uploadStream = ({ source, around: [before, after] }: Upload, limit: Deadline): Readable => {
  const upload = new Transform({
    transform(piece, _encoding, done) {
      limit.restart()
      done(null, piece)
    },
    flush(done) {
      done(null, after)
    },
  })
  if (before.length > 0) upload.push(before)
  let over = false
  upload.once('close', () => {
    over = true
    source.destroy()
  })
  finished(source, error => {
    if (error && !over) limit.abort(error)
  })
  return source.pipe(upload)
}
