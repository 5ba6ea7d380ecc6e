/**
 * Looks at every entry of a layer while it is written to disk: a layer of some kilobytes can unpack to any number of bytes and
 * files. What it does not let through is refused whole; paths and links are the unpacker's to hold inside the root.
 */
import { Transform, type TransformCallback } from 'node:stream'
import { fail, isError, messageOf } from '../../../../shared/errors.ts'
import { readEntries, type LayerEntry } from './entries.ts'

export interface Budget {
  /** Bytes that are left for this image, unpacked. */
  bytes: number
  /** Entries that are left. */
  entries: number
}

export const mostEntries = 2_000_000

const longestPath = 4_096

const refuse = (reason: string) => fail('unprocessable', { reason })

/** Attributes that mean something to the overlay below a sandbox, not to the sandbox. */
const overlayAttribute = /^(?:SCHILY\.xattr|LIBARCHIVE\.xattr)\.(?:trusted\.|user\.overlay\.)/

const judge = ({ name, linkname, uid, gid, records }: LayerEntry): void => {
  const shown = JSON.stringify(name.slice(0, 200))
  if (Math.max(Buffer.byteLength(name), Buffer.byteLength(linkname)) > longestPath)
    throw new Error(`has a path longer than ${longestPath} bytes, ${shown}`)
  if (!(uid >= 0) || !(gid >= 0)) throw new Error(`has an owner that cannot be, ${shown}`)
  for (const key of Object.keys(records)) {
    if (key.startsWith('GNU.sparse')) throw new Error(`has a sparse file, ${shown}`)
    if (overlayAttribute.test(key)) throw new Error(`has an attribute ${key.slice(0, 80)} on ${shown}`)
  }
}

/** Passes the bytes of a tar archive on and takes what it unpacks to from `budget`. Fails with `unprocessable`. */
export const scanLayer = (budget: Budget): Transform => {
  const entries = readEntries(entry => {
    judge(entry)
    budget.entries -= 1
    if (budget.entries < 0) throw refuse(`it has more than ${mostEntries} files`)
  })
  /** Calls back with what is wrong, or with `chunk`. */
  const tell = (done: TransformCallback, look: () => void, chunk?: Buffer): void => {
    try {
      look()
    } catch (error) {
      done(isError(error) ? error : refuse(`a layer ${messageOf(error)}`))
      return
    }
    done(null, chunk)
  }
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const look = () => {
        budget.bytes -= chunk.length
        if (budget.bytes < 0) throw refuse('its layers unpack to more than HUTCH_IMAGE_MAX_MB allows')
        entries.feed(chunk)
      }
      tell(done, look, chunk)
    },
    flush(done) {
      tell(done, entries.end)
    },
  })
}
