/** Takes the body of one part: the form field `file`, with or without a file name. */
import { Readable } from 'node:stream'
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Request } from '../../shared/route.ts'
import { readForm } from '../filesystem/transfer/form.ts'
import { streamContent, type Incoming } from '../filesystem/transfer/incoming.ts'
import type { BodyDetacher } from '../node-internals/detach-body.ts'
import type { Part } from './layout.ts'
import { writePart, type PartWriter } from './part.ts'
import type { Upload } from './uploads.ts'

/** A part without a file name is a plain field to the form parser, which holds it in memory. Bytes. */
const fieldLimit = 64 * 1024 * 1024

const pieceBytes = 256 * 1024

/** Small pieces, so that hashing does not block the event loop. */
function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

/** Throws `invalid_body`, `invalid_argument`, system errors; nothing is left of an incomplete part. */
export const receivePart = async (
  upload: Upload,
  number: number,
  request: Request,
  deps: { ids: Ids; clock: Clock; detacher: BodyDetacher },
): Promise<Part> => {
  let writer: PartWriter | undefined
  let found = false
  const take = async (content: Incoming): Promise<void> => {
    writer = await writePart(upload, number, deps.ids)
    await writer.take(content)
  }
  let field: Buffer | undefined
  try {
    await readForm(
      request,
      {
        field(name, value, cut) {
          if (name !== 'file' || found) return
          found = true
          if (cut) throw fail('invalid_argument', { field: 'file', reason: 'a part this large needs a filename' })
          field = Buffer.from(value, 'latin1')
        },
        file(name) {
          if (name !== 'file' || found) return undefined
          found = true
          return take
        },
      },
      { fieldLimit, hashing: true, detacher: deps.detacher },
    )
    if (field) await take(streamContent(Readable.from(pieces(field)), true))
    if (!writer) throw fail('invalid_argument', { field: 'file', reason: 'the form has no part of this name' })
    return await writer.commit(deps.clock.now())
  } catch (error) {
    await writer?.abandon()
    throw error
  }
}
