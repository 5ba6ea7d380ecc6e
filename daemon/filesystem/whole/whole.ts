/**
 * Writes regular files whole or not at all: the content goes into a draft, and takes the name once it is complete. Readers see the old
 * content or the new one, never a part; of two writers one wins; a write that fails, or a daemon that is killed, leaves the old file.
 */
import { constants } from 'node:fs'
import { posix } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import { keyedMutex } from '../../../shared/sync.ts'
import { closeFd, writeFd } from '../descriptor.ts'
import type { FileKind, FilePort } from '../port.ts'
import { draftName } from './draft-name.ts'
import { dropDraft, openDraft, openPlainDraft, type Draft } from './draft.ts'
import type { DraftJournal } from './journal.ts'
import { publishDraft, renameDraft, type PublishDeps, type Wanted } from './publish.ts'
import { targetOf, type Target } from './target.ts'

export interface WriteOptions {
  /** Of a new file; subject to the umask. */
  readonly fresh: number
  /** Also of a file that is there, which keeps its own otherwise; subject to the umask. */
  readonly mode?: number | undefined
  /**
   * What a process that opens the path for writing may do: the file itself must be writable, and fifos and devices are written
   * to. Without it only regular files are accepted, and the right to replace one is enough.
   */
  readonly asProcess?: boolean
}

/** A file on its way. Either `publish` or `discard` ends it. */
export interface Staged {
  /** For writing, from position 0. */
  readonly fd: number
  /** Throws system errors; the file is then as it was. */
  publish(): Promise<void>
  discard(): Promise<void>
}

export interface WholeFiles {
  /** Links are followed; missing parents are made (0755). Throws system errors. */
  stage(path: string, options: WriteOptions): Promise<Staged>
  /** Stages, runs `fill` and publishes; after a failure the file is as it was. */
  replace<T>(path: string, options: WriteOptions, fill: (fd: number) => Promise<T>): Promise<T>
  write(path: string, bytes: Uint8Array, options: WriteOptions): Promise<void>
  /** A new file that takes the name itself, whatever has it (but no directory): links are not followed, nothing is kept. */
  supplant<T>(path: string, mode: number, fill: (fd: number) => Promise<T>): Promise<T>
  /** The same for what `make` makes at the path it is given: a link, another name of a file. */
  supplantBy(path: string, make: (at: string) => Promise<void>): Promise<void>
}

interface WholeContext extends PublishDeps {
  readonly journal: DraftJournal
  /** Where a file that has an unwritable directory is staged. */
  readonly spareDir: string
}

const { O_TRUNC, O_WRONLY } = constants
/** The directory takes no new file. */
const unwritable: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS'])

const unfit = (path: string, kind: FileKind) => {
  const code = kind === 'directory' ? 'EISDIR' : 'EINVAL'
  return Object.assign(new Error(`${code}: ${path} is a ${kind}, not a regular file`), { code })
}

/** A fifo or a device takes bytes as they come. */
const openSpecial = async (port: FilePort, path: string): Promise<Staged> => {
  const fd = await port.open(path, O_WRONLY | O_TRUNC)
  return {
    fd,
    publish: () => closeFd(fd),
    discard: () =>
      closeFd(fd).catch(() => {
        // The write failed already; that is the failure to report.
      }),
  }
}

const draftFor = async (
  context: WholeContext,
  { real, stat }: Target,
  mode: number,
): Promise<{ draft: Draft; elsewhere: boolean }> => {
  const options = { mode, replaces: stat !== undefined }
  try {
    return { draft: await openDraft(context, { ...options, dir: posix.dirname(real) }), elsewhere: false }
  } catch (error) {
    if (!stat || !unwritable.has(errno(error) ?? '')) throw error
    return { draft: await openDraft(context, { ...options, dir: context.spareDir }), elsewhere: true }
  }
}

const stagedAs = (context: WholeContext, draft: Draft, wanted: Wanted): Staged => ({
  fd: draft.fd,
  publish: () => publishDraft(context, draft, wanted),
  discard: () => dropDraft(context, draft),
})

const stage = async (context: WholeContext, path: string, options: WriteOptions): Promise<Staged> => {
  const { port } = context
  const { mode, fresh, asProcess = false } = options
  const ownMode = mode !== undefined
  const plain = await openPlainDraft(context, path, { mode: mode ?? fresh, writable: asProcess })
  if (plain) return stagedAs(context, plain.draft, { real: plain.real, elsewhere: false, ownMode })
  const target = await targetOf(port, path)
  const { real, stat } = target
  if (stat && stat.kind !== 'file') {
    if (!asProcess || stat.kind === 'directory') throw unfit(path, stat.kind)
    return openSpecial(port, real)
  }
  if (stat && asProcess) await port.mayWrite(real)
  const { draft, elsewhere } = await draftFor(context, target, mode ?? fresh)
  return stagedAs(context, draft, { real, elsewhere, ownMode })
}

const filled = async <T>(staged: Staged, fill: (fd: number) => Promise<T>): Promise<T> => {
  let result: T
  try {
    result = await fill(staged.fd)
  } catch (error) {
    await staged.discard()
    throw error
  }
  await staged.publish()
  return result
}

const exists = (port: FilePort, path: string): Promise<boolean> =>
  port.lstat(path).then(
    () => true,
    error => {
      if (errno(error) === 'ENOENT') return false
      throw error
    },
  )

const supplant = async <T>(
  context: WholeContext,
  path: string,
  mode: number,
  fill: (fd: number) => Promise<T>,
): Promise<T> => {
  const replaces = await exists(context.port, path)
  const draft = await openDraft(context, { dir: posix.dirname(path), mode, replaces })
  try {
    const result = await fill(draft.fd)
    await renameDraft(context, draft, path)
    return result
  } catch (error) {
    await dropDraft(context, draft)
    throw error
  }
}

const supplantBy = async (context: WholeContext, path: string, make: (at: string) => Promise<void>): Promise<void> => {
  const { port, ids, journal } = context
  try {
    return await make(path)
  } catch (error) {
    if (errno(error) !== 'EEXIST') throw error
  }
  const at = posix.join(posix.dirname(path), draftName(ids, { replaces: true }))
  const forget = await journal.note(at)
  // As one that is open no more.
  const draft: Draft = { fd: -1, path: at, named: true, forget }
  try {
    await make(at)
    await port.rename(at, path)
  } finally {
    // After a rename nothing is there, unless both were names of one file: then the kernel leaves both.
    await dropDraft(context, draft)
  }
}

export const createWholeFiles = (deps: {
  port: FilePort
  ids: Ids
  journal: DraftJournal
  spareDir: string
}): WholeFiles => {
  const context: WholeContext = { ...deps, inTurn: keyedMutex() }
  const replace: WholeFiles['replace'] = async (path, options, fill) =>
    filled(await stage(context, path, options), fill)
  return {
    stage: (path, options) => stage(context, path, options),
    replace,
    write: (path, bytes, options) => replace(path, options, fd => writeFd(fd, bytes)),
    supplant: (path, mode, fill) => supplant(context, path, mode, fill),
    supplantBy: (path, make) => supplantBy(context, path, make),
  }
}
