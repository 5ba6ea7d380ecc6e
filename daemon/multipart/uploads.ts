/** The uploads under way: made, found again after a restart, given up, expired. */
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../shared/clock.ts'
import { fail, messageOf } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import { semaphore } from '../../shared/sync.ts'
import { rfc3339 } from '../times.ts'
import { readUpload, writeHeader, type Header, type Part } from './layout.ts'

export interface Upload {
  header: Header
  readonly dir: string
  readonly parts: Map<number, Part>
  /** Numbers of the parts that are being written inside `data` now. */
  readonly inFlight: Set<number>
  /** Runs one change of the header after the other. */
  readonly exclusive: <T>(task: () => Promise<T>) => Promise<T>
  /** Being put together or deleted: no part is taken any more. */
  closing: boolean
  /** Epoch milliseconds of the last thing that happened to it. */
  touchedAt: number
}

export interface Uploads {
  /** Throws `operation_failed` when nothing can be stored. */
  initiate(path: string, mode: number): Promise<Upload>
  find(uploadId: string): Promise<Upload | undefined>
  all(): Promise<Upload[]>
  /** Deletes it with all its parts. */
  remove(upload: Upload): Promise<void>
  /** Deletes what nothing happened to for longer than the expiry. */
  sweep(): Promise<void>
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Ours alone: in a shared /tmp anybody may have put a link or a directory of his own under that name. */
const ownDirectory = async (dir: string): Promise<void> => {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const found = await lstat(dir)
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0)
    throw fail('operation_failed', { reason: `${dir} is not a directory that only the daemon may write` })
}

const fresh = (header: Header, dir: string, touchedAt: number, parts = new Map<number, Part>()): Upload => ({
  header,
  dir,
  parts,
  inFlight: new Set(),
  exclusive: semaphore(1),
  closing: false,
  touchedAt,
})

const lastTouched = async (dir: string): Promise<number> => (await stat(dir)).mtimeMs

export const createUploads = (
  options: { dir: string; expiryMs: number | undefined },
  deps: { clock: Clock; ids: Ids; log: Log },
): Uploads => {
  const { dir, expiryMs } = options
  const { clock, ids, log } = deps
  const uploads = new Map<string, Upload>()
  let loading: Promise<void> | undefined

  const loadOne = async (name: string): Promise<void> => {
    const at = join(dir, name)
    try {
      const { header, parts } = await readUpload(at)
      if (header.uploadId !== name) throw new Error('the header names another upload')
      const touchedAt = await lastTouched(at)
      uploads.set(name, fresh(header, at, touchedAt, parts))
    } catch (error) {
      log.warn('multipart.unreadable', { upload: name, reason: messageOf(error) })
    }
  }
  const load = async (): Promise<void> => {
    await ownDirectory(dir)
    for (const name of await readdir(dir)) if (uuid.test(name)) await loadOne(name)
  }
  const loaded = (): Promise<void> => {
    loading ??= load().catch(error => {
      loading = undefined
      throw fail('operation_failed', { reason: `uploads in parts cannot be stored: ${messageOf(error)}` }, error)
    })
    return loading
  }
  const remove = async (upload: Upload): Promise<void> => {
    upload.closing = true
    uploads.delete(upload.header.uploadId)
    await rm(upload.dir, { recursive: true, force: true, maxRetries: 3 })
  }
  return {
    async initiate(path, mode) {
      await loaded()
      const uploadId = ids.uuid()
      const now = clock.now()
      const header = { uploadId, path, mode, initiatedAt: rfc3339(BigInt(Math.trunc(now)) * 1_000_000n) }
      const at = join(dir, uploadId)
      try {
        await mkdir(at, { mode: 0o700 })
        await writeHeader(at, header)
      } catch (error) {
        await rm(at, { recursive: true, force: true })
        throw fail('operation_failed', { reason: messageOf(error) }, error)
      }
      const upload = fresh(header, at, now)
      uploads.set(uploadId, upload)
      return upload
    },
    async find(uploadId) {
      await loaded()
      return uploads.get(uploadId)
    },
    async all() {
      await loaded()
      return [...uploads.values()]
    },
    remove,
    async sweep() {
      if (expiryMs === undefined) return
      await loaded()
      const before = clock.now() - expiryMs
      for (const upload of uploads.values())
        if (!upload.closing && upload.inFlight.size === 0 && upload.touchedAt < before) {
          log.info('multipart.expired', { upload: upload.header.uploadId, path: upload.header.path })
          await remove(upload)
        }
      // What has no valid header was never reported to anybody, or is damaged.
      for (const name of await readdir(dir))
        if (uuid.test(name) && !uploads.has(name) && (await lastTouched(join(dir, name))) < before)
          await rm(join(dir, name), { recursive: true, force: true })
    },
  }
}
