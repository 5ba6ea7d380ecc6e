/** Archives that were uploaded, a file for each, until they are built. */
import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errno, fail } from '../../../../shared/errors.ts'
import { syncDirectory } from '../../../base/durable.ts'

export interface UploadFiles {
  /** The archive of a slot. */
  path(slot: string): string
  /**
   * Stores what comes, all of it or nothing; resolves with the number of bytes. Throws `payload_too_large` when it is more than it may be,
   * `invalid_body` when it is empty or breaks off before `length`.
   */
  store(slot: string, from: Readable, length: number | undefined): Promise<number>
  remove(slot: string): Promise<void>
  /** Removes all but those. */
  keep(slots: ReadonlySet<string>): Promise<void>
}

const bounded = (count: (bytes: number) => void): Transform =>
  new Transform({
    transform(piece: Buffer, _encoding, done) {
      try {
        count(piece.length)
        done(null, piece)
      } catch (error) {
        done(error as Error)
      }
    },
  })

export const uploadFiles = async (directory: string, maxBytes: number): Promise<UploadFiles> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const path = (slot: string) => join(directory, slot)
  const part = (slot: string) => join(directory, `${slot}.part`)
  const write = async (slot: string, from: Readable, length: number | undefined): Promise<number> => {
    if (length !== undefined && length > maxBytes) throw fail('payload_too_large', { limit: maxBytes })
    let bytes = 0
    const count = (more: number): void => {
      bytes += more
      if (bytes > maxBytes) throw fail('payload_too_large', { limit: maxBytes })
    }
    await pipeline(from, bounded(count), createWriteStream(part(slot), { flags: 'w', mode: 0o600 }))
    if (length !== undefined && bytes !== length)
      throw fail('invalid_body', { reason: `the upload was cut off after ${bytes} of ${length} bytes` })
    if (bytes === 0) throw fail('invalid_body', { reason: 'the upload is empty' })
    const file = await open(part(slot), 'r')
    try {
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(part(slot), path(slot))
    await syncDirectory(directory)
    return bytes
  }
  return {
    path,
    async store(slot, from, length) {
      try {
        return await write(slot, from, length)
      } catch (error) {
        await rm(part(slot), { force: true })
        if (['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'ABORT_ERR'].includes(errno(error) ?? ''))
          throw fail('invalid_body', { reason: 'the upload was cut off' }, error)
        throw error
      }
    },
    async remove(slot) {
      for (const file of [path(slot), part(slot)]) await rm(file, { force: true })
    },
    async keep(slots) {
      for (const name of await readdir(directory))
        if (!slots.has(name)) await rm(join(directory, name), { force: true })
    },
  }
}
