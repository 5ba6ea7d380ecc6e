/** Reads multipart/form-data in the order it comes, each file as a stream that is never held in memory. */
import busboy from 'busboy'
import type { Readable } from 'node:stream'
import { fail, messageOf } from '../../shared/errors.ts'
import type { Request } from '../../shared/route.ts'
import { discard } from './sink.ts'

export interface FormReader {
  /** A part without a file name; `value` holds its bytes as latin1, cut at `fieldLimit`. May throw. */
  field(name: string, value: string, cut: boolean): void
  /** A part with a file name (or of type octet-stream); undefined drains it unread. */
  file(name: string, content: Readable): Promise<void> | undefined
}

/** What of a failed upload is still read, so that a client that sends all before it reads sees the answer. Bytes. */
const drainLimit = 64 * 1024 * 1024

/**
 * Resolves when the form and all its files are dealt with. Throws `invalid_body` when it is no whole form, else the
 * first failure of a reader. The request stays open, so that it can be answered.
 */
export const readForm = async (request: Request, reader: FormReader, fieldLimit: number): Promise<void> => {
  const { body } = request
  let parser: busboy.Busboy
  try {
    const headers = { ...request.headers, 'content-type': String(request.headers['content-type'] ?? '') }
    parser = busboy({
      headers,
      fileHwm: 1024 * 1024,
      highWaterMark: 1024 * 1024,
      defCharset: 'latin1',
      limits: { fieldSize: fieldLimit },
    })
  } catch (error) {
    throw fail('invalid_body', { reason: messageOf(error) }, error)
  }
  const files: Promise<void>[] = []
  try {
    await new Promise<void>((resolve, reject) => {
      let failed = false
      const failing = (error: unknown) => {
        failed = true
        reject(error)
      }
      const malformed = (error: unknown) => failing(fail('invalid_body', { reason: messageOf(error) }, error))
      parser.on('field', (name, value, info) => {
        try {
          if (!failed) reader.field(name ?? '', value, info.valueTruncated)
        } catch (error) {
          failing(error)
        }
      })
      parser.on('file', (name, content) => {
        // Heard here first, since the form ending within a file is the form's fault and not the writer's.
        content.on('error', malformed)
        const work = failed ? undefined : reader.file(name ?? '', content)
        if (!work) return void content.resume()
        files.push(work)
        work.catch(failing)
      })
      parser.on('error', malformed)
      parser.on('close', resolve)
      const gone = () => failing(body.errored ?? new Error('the client went away'))
      body.on('error', failing)
      body.on('close', () => {
        if (!body.readableEnded) gone()
      })
      if (body.destroyed && !body.readableEnded) gone()
      else body.pipe(parser)
    })
    await Promise.all(files)
  } catch (error) {
    body.unpipe(parser)
    // Ends the file streams, so that their writers stop and clean up before the answer leaves.
    parser.destroy()
    await Promise.allSettled(files)
    await discard(body, drainLimit)
    throw error
  }
}
