/**
 * What an upload in parts looks like on disk, so that it outlives the daemon:
 *
 *     <tmpdir>/multipart-uploads/<uploadId>/
 *       metadata.json              target, mode, stride; replaced by rename
 *       part-<n>.<md5>             a part in a file of its own
 *       data                       parts at (n - 1) × stride, where the finished file has them
 *       slot-<n>.<md5>.<size>      empty; says that part n is whole inside `data`
 *       incoming-<random>          a part on its way
 *
 * A part exists from the moment its name does, which one rename or creation brings about.
 */
import { constants } from 'node:fs'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, s, type Out } from '../../shared/schema.ts'
import { readRegularFile } from '../config/read-regular-file.ts'
import { rfc3339 } from '../times.ts'

const headerShape = s.object({
  uploadId: s.string(),
  /** Absolute. */
  path: s.string(),
  mode: s.int(),
  initiatedAt: s.string(),
  /** Size of every part but the last, once it is known. */
  stride: s.optional(s.int()),
})
export type Header = Out<typeof headerShape>

export interface Part {
  readonly number: number
  readonly etag: string
  readonly size: number
  readonly uploadedAt: string
  /** Name of the file in the upload's directory that stands for the part. */
  readonly name: string
  /** The part is inside `data`. */
  readonly inSlot: boolean
}

export const dataName = 'data'
export const partName = (number: number, etag: string) => `part-${number}.${etag}`
export const slotName = (number: number, etag: string, size: number) => `slot-${number}.${etag}.${size}`

/** Writes the header atomically. */
export const writeHeader = async (dir: string, header: Header): Promise<void> => {
  const beside = join(dir, 'incoming-metadata')
  // Not what somebody else has put there: opening a pipe would take a thread for ever.
  const flags = constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC
  const file = await open(beside, flags, 0o600)
  try {
    await file.writeFile(JSON.stringify(header))
  } finally {
    await file.close()
  }
  await rename(beside, join(dir, 'metadata.json'))
}

const partOf = async (dir: string, name: string): Promise<(Part & { at: bigint }) | undefined> => {
  const match = /^(?:part-(\d{1,5})\.([0-9a-f]{32})|slot-(\d{1,5})\.([0-9a-f]{32})\.(\d{1,15}))$/.exec(name)
  if (!match) return undefined
  const stats = await stat(join(dir, name), { bigint: true })
  const inSlot = match[3] !== undefined
  return {
    number: Number(match[1] ?? match[3]),
    etag: (match[2] ?? match[4]) as string,
    size: inSlot ? Number(match[5]) : Number(stats.size),
    uploadedAt: rfc3339(stats.mtimeNs),
    name,
    inSlot,
    at: stats.mtimeNs,
  }
}

/** Reads back what an earlier daemon left; drops parts that were incomplete. Throws when there is no valid header. */
export const readUpload = async (dir: string): Promise<{ header: Header; parts: Map<number, Part> }> => {
  const header = parse(headerShape, JSON.parse(readRegularFile(join(dir, 'metadata.json')).toString('utf8')), 'config')
  const newest = new Map<number, Part & { at: bigint }>()
  for (const name of await readdir(dir)) {
    if (name.startsWith('incoming-')) await rm(join(dir, name), { force: true })
    const part = await partOf(dir, name)
    if (!part) continue
    const other = newest.get(part.number)
    const older = other && other.at > part.at ? part : other
    // Replaced, but the daemon ended before the old one was deleted.
    if (older) await rm(join(dir, older.name), { force: true })
    if (older !== part) newest.set(part.number, part)
  }
  return { header, parts: newest }
}
