/**
 * Writes one part while it arrives, and hashes it. Once the size of the parts is known, a part is written at its place
 * in the finished file, so that assembling copies next to nothing. A part that does not fit there, or whose place is
 * taken, gets a file of its own.
 */
import { constants } from 'node:fs'
import { open, rename, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import { copyFd } from '../filesystem/descriptor.ts'
import type { Incoming } from '../filesystem/transfer/incoming.ts'
import { rfc3339 } from '../times.ts'
import { dataName, partName, slotName, writeHeader, type Part } from './layout.ts'
import type { Upload } from './uploads.ts'

const { O_RDWR, O_CREAT, O_EXCL } = constants

export interface PartWriter {
  /** Writes the content, once; when it fails nothing uses the file any more. */
  take(content: Incoming): Promise<void>
  /** The part is complete: from now on it counts, instead of an earlier one with its number. */
  commit(now: number): Promise<Part>
  /** The part is incomplete: removes it. */
  abandon(): Promise<void>
}

interface Place {
  readonly file: FileHandle
  /** Offset of the part in it. */
  readonly at: number
  /** Path of a file of its own; undefined inside `data`. */
  readonly own: string | undefined
}

const openOwn = async (upload: Upload, ids: Ids): Promise<Place> => {
  const own = join(upload.dir, `incoming-${ids.short(12)}`)
  const file = await open(own, O_RDWR | O_CREAT | O_EXCL, 0o600)
  return { file, at: 0, own }
}

const openSlot = async (upload: Upload, number: number, stride: number): Promise<Place> => {
  upload.inFlight.add(number)
  try {
    const file = await open(join(upload.dir, dataName), O_RDWR | O_CREAT, 0o600)
    return { file, at: (number - 1) * stride, own: undefined }
  } catch (error) {
    upload.inFlight.delete(number)
    throw error
  }
}

/** Remembers the size of the parts: the largest seen so far, until a part was placed by it. */
const learnStride = (upload: Upload, size: number): Promise<void> =>
  upload.exclusive(async () => {
    const { stride, ...header } = upload.header
    const placed = upload.inFlight.size > 0 || [...upload.parts.values()].some(part => part.inSlot)
    if (placed || size <= (stride ?? 0)) return
    // No part is placed by the old size while the new one is being saved.
    upload.header = header
    try {
      await writeHeader(upload.dir, { ...header, stride: size })
      upload.header = { ...header, stride: size }
    } catch (error) {
      if (stride !== undefined) upload.header = { ...header, stride }
      throw error
    }
  })

export const writePart = async (upload: Upload, number: number, ids: Ids): Promise<PartWriter> => {
  const { stride } = upload.header
  const free = stride !== undefined && !upload.inFlight.has(number) && !upload.parts.get(number)?.inSlot
  let place = free ? await openSlot(upload, number, stride) : await openOwn(upload, ids)
  let size = 0
  let etag = ''

  /** The part is larger than its place: the rest goes to a file of its own. */
  const moveOut = async (): Promise<void> => {
    const { file, at } = place
    const own = await openOwn(upload, ids)
    try {
      await copyFd({ fd: file.fd, at }, { fd: own.file.fd, at: 0 }, size)
    } finally {
      place = own
      upload.inFlight.delete(number)
      await file.close()
    }
  }
  return {
    async take(content) {
      const { file, at, own } = place
      const first = await content.writeTo(file.fd, at, own === undefined ? (stride ?? 0) : Infinity)
      size = first.bytes
      if (!first.ended) {
        await moveOut()
        size += (await content.writeTo(place.file.fd, size, Infinity)).bytes
      }
      etag = content.digest()
    },
    async commit(now) {
      await place.file.close()
      if (upload.closing) throw fail('operation_failed', { reason: 'the upload was completed or aborted meanwhile' })
      const { own } = place
      const name = own ? partName(number, etag) : slotName(number, etag, size)
      if (own) await rename(own, join(upload.dir, name))
      else await (await open(join(upload.dir, name), O_RDWR | O_CREAT, 0o600)).close()
      const uploadedAt = rfc3339(BigInt(Math.trunc(now)) * 1_000_000n)
      const part: Part = { number, etag, size, uploadedAt, name, inSlot: own === undefined }
      const before = upload.parts.get(number)
      upload.parts.set(number, part)
      // Another one may be writing to the place in `data`, that came first and is not done.
      if (!own) upload.inFlight.delete(number)
      upload.touchedAt = now
      if (before && before.name !== name) await rm(join(upload.dir, before.name), { force: true })
      await learnStride(upload, size)
      return part
    },
    async abandon() {
      // Already closed when the commit was what failed.
      await place.file.close().catch(() => {})
      const { own } = place
      if (own) await rm(own, { force: true })
      else upload.inFlight.delete(number)
    },
  }
}
