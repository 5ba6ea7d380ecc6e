/** Gives a draft the name it was written for; where a rename would be wrong, its content goes into the file that has the name. */
import { constants } from 'node:fs'
import { errno } from '../../../shared/errors.ts'
import { closeFd, copyFd, dropFd, statFd, truncateFd } from '../descriptor.ts'
import type { FilePort, FileStat } from '../port.ts'
import { closeDraft, dropDraft, type Draft, type DraftDeps } from './draft.ts'

export interface PublishDeps extends DraftDeps {
  /** Runs what writes into the file of a path one after the other. */
  readonly inTurn: <T>(path: string, task: () => Promise<T>) => Promise<T>
}

export interface Wanted {
  readonly real: string
  /** The file has the mode of the draft, also if another one is there already. */
  readonly ownMode: boolean
  /** The draft is on another file system, since none could be made beside the file. */
  readonly elsewhere: boolean
}

const { O_RDONLY, O_WRONLY } = constants

/** Writes what needs new room on the disk first: when that fails, the file is as it was. */
const overwrite = async (from: number, to: number, sizes: { from: number; to: number }): Promise<void> => {
  if (sizes.from > sizes.to)
    try {
      await copyFd({ fd: from, at: sizes.to }, { fd: to, at: sizes.to }, sizes.from - sizes.to)
    } catch (error) {
      await truncateFd(to, sizes.to)
      throw error
    }
  await copyFd({ fd: from, at: 0 }, { fd: to, at: 0 }, Math.min(sizes.from, sizes.to))
  if (sizes.to > sizes.from) await truncateFd(to, sizes.from)
}

/** Copies the whole draft into the file that is there, so that its owner, its names and whatever is mounted on it stay. */
const copyInto = async ({ port, inTurn }: PublishDeps, from: number, { real, ownMode }: Wanted): Promise<void> =>
  inTurn(real, async () => {
    const to = await port.open(real, O_WRONLY)
    try {
      const [source, there] = await Promise.all([statFd(from), statFd(to)])
      await overwrite(from, to, { from: source.size, to: there.size })
      if (ownMode) await port.chmodFd(to, real, source.mode & 0o7777)
    } finally {
      await closeFd(to)
    }
  })

/** Whether the draft can stand for what has the name now: it has one name, and its owner can be given to the draft. */
const canReplace = async (port: FilePort, fd: number, { real, ownMode }: Wanted): Promise<boolean> => {
  try {
    return (await port.resemble(fd, real, { mode: !ownMode })) <= 1
  } catch (error) {
    if (errno(error) === 'ENOENT') return true
    if (errno(error) === 'EPERM') return false
    throw error
  }
}

/** Something is mounted on the file, or the directory's owner keeps others from replacing what is in it. */
const cannotBeRenamed: ReadonlySet<string> = new Set(['EBUSY', 'EPERM', 'EACCES'])

const isRegular = (port: FilePort, path: string): Promise<boolean> =>
  port.lstat(path).then(
    ({ kind }: FileStat) => kind === 'file',
    () => false,
  )

/** Gives the draft its short-lived name, if it has none yet, and closes it. */
const nameDraft = async (port: FilePort, draft: Draft): Promise<void> => {
  if (!draft.named) await port.nameFd(draft.fd, draft.path)
  draft.named = true
  await closeDraft(draft)
}

/** Renames it over `real`. Throws system errors. */
export const renameDraft = async ({ port }: PublishDeps, draft: Draft, real: string): Promise<void> => {
  await nameDraft(port, draft)
  await port.rename(draft.path, real)
  draft.named = false
  draft.forget()
}

/** In one call, for an unnamed draft on a plain file system. Throws system errors; the draft then still has its content and no name. */
const publishAtOnce = async (deps: PublishDeps, draft: Draft, { real, ownMode }: Wanted): Promise<boolean> => {
  const { port, journal } = deps
  const forget = journal.noteNow(draft.path)
  try {
    return (await port.publish(draft.fd, real, draft.path, { mode: !ownMode })) <= 1
  } catch (error) {
    if (cannotBeRenamed.has(errno(error) ?? '') && (await isRegular(port, real))) return false
    throw error
  } finally {
    forget()
  }
}

/** In one step where that is right. Throws system errors; the file is then as it was, and the draft is gone. */
export const publishDraft = async (deps: PublishDeps, draft: Draft, wanted: Wanted): Promise<void> => {
  const { port } = deps
  const { real, elsewhere } = wanted
  try {
    if (draft.plain) {
      if (!(await publishAtOnce(deps, draft, wanted))) await copyInto(deps, draft.fd, wanted)
    } else if (elsewhere || !(await canReplace(port, draft.fd, wanted))) await copyInto(deps, draft.fd, wanted)
    else
      try {
        return await renameDraft(deps, draft, real)
      } catch (error) {
        if (!cannotBeRenamed.has(errno(error) ?? '') || !draft.named || !(await isRegular(port, real))) throw error
        const from = await port.open(draft.path, O_RDONLY)
        try {
          await copyInto(deps, from, wanted)
        } finally {
          dropFd(from)
        }
      }
    await dropDraft(deps, draft)
  } catch (error) {
    await dropDraft(deps, draft)
    throw error
  }
}
