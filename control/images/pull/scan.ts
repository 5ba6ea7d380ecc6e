/**
 * Looks at every entry of a layer while it is written to disk: a layer of some kilobytes can unpack to any number of bytes and
 * files. What it does not let through is refused whole; paths and links are the unpacker's to hold inside the root.
 */
import { Transform } from 'node:stream'
import { extract, type Header } from 'tar-stream'
import { fail, messageOf, type AppError } from '../../../shared/errors.ts'

export interface Budget {
  /** Bytes that are left for this image, unpacked. */
  bytes: number
  /** Entries that are left. */
  entries: number
}

export const mostEntries = 2_000_000

const longestPath = 4_096

const refuse = (reason: string) => fail('unprocessable', { reason })

/** Its types know only the options of a stream. Names are bytes, which only this encoding keeps apart. */
const options: object = { filenameEncoding: 'latin1', allowUnknownFormat: true }

/** Devices are left out when it is unpacked. */
const kinds = new Set(['file', 'link', 'symlink', 'directory', 'fifo', 'character-device', 'block-device'])

/** Attributes that mean something to the overlay below a sandbox, not to the sandbox. */
const overlayAttribute = /^(?:SCHILY\.xattr|LIBARCHIVE\.xattr)\.(?:trusted\.|user\.overlay\.)/

const judge = ({ name, type, linkname, pax, uid, gid }: Header): void => {
  const shown = JSON.stringify(name.slice(0, 200))
  if (!kinds.has(type)) throw refuse(`a layer has an entry of an unknown type, ${shown}`)
  if (name.length > longestPath || (linkname ?? '').length > longestPath)
    throw refuse(`a layer has a path longer than ${longestPath} bytes, ${shown}`)
  if (!(uid >= 0) || !(gid >= 0)) throw refuse(`a layer has an owner that cannot be, ${shown}`)
  for (const key of Object.keys(pax ?? {})) {
    if (key.startsWith('GNU.sparse')) throw refuse(`a layer has a sparse file, ${shown}`)
    if (overlayAttribute.test(key)) throw refuse(`a layer has an attribute ${key.slice(0, 80)} on ${shown}`)
  }
}

/** Passes the bytes of a tar archive on and takes what it unpacks to from `budget`. Fails with `unprocessable`. */
export const scanLayer = (budget: Budget): Transform => {
  const parser = extract(options)
  let failed: AppError | undefined
  parser.on('entry', (header, content, next) => {
    // The parser says it, too.
    content.on('error', () => undefined)
    content.resume()
    budget.entries -= 1
    try {
      judge(header)
      if (budget.entries < 0) throw refuse(`it has more than ${mostEntries} files`)
    } catch (error) {
      failed ??= error as AppError
    }
    next()
  })
  parser.on('error', error => {
    failed ??= refuse(`a layer is not a tar archive: ${messageOf(error)}`)
  })
  const count = (chunk: Buffer): void => {
    budget.bytes -= chunk.length
    if (budget.bytes < 0) throw refuse('its layers unpack to more than HUTCH_IMAGE_MAX_MB allows')
  }
  /** Calls back when the parser can take more, or never will. */
  const whenReady = (ready: () => void): void => {
    const once = () => {
      parser.off('drain', once)
      parser.off('close', once)
      ready()
    }
    parser.on('drain', once)
    parser.on('close', once)
  }
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        count(chunk)
      } catch (error) {
        done(error as Error)
        return
      }
      const pass = () => done(failed, chunk)
      if (failed || parser.write(chunk)) pass()
      else whenReady(pass)
    },
    flush(done) {
      const end = () => done(failed)
      if (failed) return end()
      parser.once('close', end)
      parser.end(null)
    },
    destroy(error, done) {
      parser.destroy()
      done(error)
    },
  })
}
