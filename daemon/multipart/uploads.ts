/** The uploads under way: started, found again after a restart, aborted, expired. */
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../shared/clock.ts'
import { fail, messageOf } from '../../shared/errors.ts'
import { reasonOf } from '../../shared/system-reason.ts'
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
  /** Being assembled or deleted: no part is accepted any more. */
  closing: boolean
  /** Time of its last change, epoch milliseconds. */
  touchedAt: number
}

export interface Uploads {
  /** Throws `operation_failed` when nothing can be stored. */
  initiate(path: string, mode: number): Promise<Upload>
  find(uploadId: string): Promise<Upload | undefined>
  all(): Promise<Upload[]>
  /** Deletes it with all its parts. */
  remove(upload: Upload): Promise<void>
  /** Deletes uploads that were idle for longer than the expiry. */
  sweep(): Promise<void>
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Makes sure that only the daemon can write there: in a shared /tmp anybody may have made a link or directory of that name. */
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

interface UploadsContext {
  readonly dir: string
  readonly expiryMs: number | undefined
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly uploads: Map<string, Upload>
  loading: Promise<void> | undefined
}

const loadOne = async ({ dir, log, uploads }: UploadsContext, name: string): Promise<void> => {
  const at = join(dir, name)
  try {
    const { header, parts } = await readUpload(at)
    if (header.uploadId !== name) throw new Error('the header names another upload')
    uploads.set(name, fresh(header, at, await lastTouched(at), parts))
  } catch (error) {
    log.warn('multipart.unreadable', { upload: name, reason: messageOf(error) })
  }
}

/** Reads back what an earlier daemon left, once; a load that failed is tried again. */
const loaded = (context: UploadsContext): Promise<void> => {
  const { dir } = context
  const load = async (): Promise<void> => {
    await ownDirectory(dir)
    for (const name of await readdir(dir)) if (uuid.test(name)) await loadOne(context, name)
  }
  context.loading ??= load().catch(error => {
    context.loading = undefined
    throw fail('operation_failed', { reason: `uploads in parts cannot be stored: ${reasonOf(error)}` }, error)
  })
  return context.loading
}

const initiate = async (context: UploadsContext, path: string, mode: number): Promise<Upload> => {
  const { dir, clock, ids, uploads } = context
  await loaded(context)
  const uploadId = ids.uuid()
  const now = clock.now()
  const header = { uploadId, path, mode, initiatedAt: rfc3339(BigInt(Math.trunc(now)) * 1_000_000n) }
  const at = join(dir, uploadId)
  try {
    await mkdir(at, { mode: 0o700 })
    await writeHeader(at, header)
  } catch (error) {
    await rm(at, { recursive: true, force: true })
    throw fail('operation_failed', { reason: reasonOf(error) }, error)
  }
  const upload = fresh(header, at, now)
  uploads.set(uploadId, upload)
  return upload
}

const remove = async ({ uploads }: UploadsContext, upload: Upload): Promise<void> => {
  upload.closing = true
  uploads.delete(upload.header.uploadId)
  await rm(upload.dir, { recursive: true, force: true, maxRetries: 3 })
}

const sweep = async (context: UploadsContext): Promise<void> => {
  const { dir, expiryMs, clock, log, uploads } = context
  if (expiryMs === undefined) return
  await loaded(context)
  const before = clock.now() - expiryMs
  for (const upload of uploads.values())
    if (!upload.closing && upload.inFlight.size === 0 && upload.touchedAt < before) {
      log.info('multipart.expired', { upload: upload.header.uploadId, path: upload.header.path })
      await remove(context, upload)
    }
  // A directory without a valid header was never reported to anybody, or is damaged.
  for (const name of await readdir(dir))
    if (uuid.test(name) && !uploads.has(name) && (await lastTouched(join(dir, name))) < before)
      await rm(join(dir, name), { recursive: true, force: true })
}

export const createUploads = (
  options: { dir: string; expiryMs: number | undefined },
  deps: { clock: Clock; ids: Ids; log: Log },
): Uploads => {
  const context: UploadsContext = { ...options, ...deps, uploads: new Map(), loading: undefined }
  const { uploads } = context
  return {
    initiate: (path, mode) => initiate(context, path, mode),
    async find(uploadId) {
      await loaded(context)
      return uploads.get(uploadId)
    },
    async all() {
      await loaded(context)
      return [...uploads.values()]
    },
    remove: upload => remove(context, upload),
    sweep: () => sweep(context),
  }
}
