/** A file without a name, or with a short-lived one, that is filled before it takes the name it is for. */
import { constants } from 'node:fs'
import { posix } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import { closeFd } from '../descriptor.ts'
import type { FilePort } from '../port.ts'
import { draftName } from './draft-name.ts'
import type { DraftJournal } from './journal.ts'

export interface DraftDeps {
  readonly port: FilePort
  readonly ids: Ids
  readonly journal: DraftJournal
}

export interface Draft {
  /** For reading and writing; -1 once it is closed. */
  fd: number
  /** Its own path, while it has one. */
  readonly path: string
  named: boolean
  /** It is in no journal, since it gets its two names in one call. */
  readonly plain?: boolean
  /** Takes the path out of the journal. */
  readonly forget: () => void
}

const { O_CREAT, O_EXCL, O_RDWR } = constants
/** O_TMPFILE of open(2): the kernel's own bit and O_DIRECTORY. */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY

/** Errors of a file system, or a kernel, without unnamed files. */
const withoutUnnamed: ReadonlySet<string> = new Set(['EOPNOTSUPP', 'ENOTSUP', 'EISDIR', 'EINVAL', 'ENOSYS'])

const openIn = async (
  port: FilePort,
  dir: string,
  path: string,
  mode: number,
): Promise<{ fd: number; named: boolean }> => {
  try {
    return { fd: await port.open(dir, O_RDWR | O_TMPFILE, mode), named: false }
  } catch (error) {
    if (!withoutUnnamed.has(errno(error) ?? '')) throw error
    return { fd: await port.open(path, O_RDWR | O_CREAT | O_EXCL, mode), named: true }
  }
}

/** The draft of the plain case, with what it is for; undefined when it is none. */
export const openPlainDraft = async (
  { port, ids }: DraftDeps,
  target: string,
  options: { readonly mode: number; readonly writable: boolean },
): Promise<{ draft: Draft; real: string } | undefined> => {
  try {
    const { fd, real, stat } = await port.stage(target, options)
    const path = posix.join(posix.dirname(real), draftName(ids, { replaces: stat !== undefined }))
    return { draft: { fd, path, named: false, plain: true, forget: () => {} }, real }
  } catch (error) {
    // The longer way finds out why, and says so.
    if (errno(error) === undefined) throw error
    return undefined
  }
}

/** A draft in `dir`, which is made with its parents (0755) if need be. `mode` is subject to the umask. Throws system errors. */
export const openDraft = async (
  { port, ids, journal }: DraftDeps,
  { dir, mode, replaces }: { dir: string; mode: number; replaces: boolean },
): Promise<Draft> => {
  const path = posix.join(dir, draftName(ids, { replaces }))
  const open = () => openIn(port, dir, path, mode)
  const opening = open().catch(async error => {
    if (errno(error) !== 'ENOENT') throw error
    await port.mkdir(dir, 0o755)
    return open()
  })
  const [opened, forget] = await Promise.allSettled([opening, journal.note(path)])
  const end = forget.status === 'fulfilled' ? forget.value : () => {}
  if (opened.status === 'fulfilled') return { ...opened.value, path, forget: end }
  end()
  throw opened.reason
}

/** Closes it; the error matters, since network file systems report a failed write there. */
export const closeDraft = async (draft: Draft): Promise<void> => {
  const { fd } = draft
  draft.fd = -1
  if (fd >= 0) await closeFd(fd)
}

/** Closes it and removes it. Never fails: what is reported is why it is dropped. */
export const dropDraft = async ({ port }: DraftDeps, draft: Draft): Promise<void> => {
  await closeDraft(draft).catch(() => {
    // Its content is not wanted any more.
  })
  try {
    if (draft.named) await port.unlink(draft.path)
    draft.forget()
  } catch (error) {
    // The entry of the journal stays, so that the next daemon removes it.
    if (errno(error) === 'ENOENT') draft.forget()
  }
}
