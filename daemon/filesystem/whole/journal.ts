/**
 * The names of drafts that exist now, on disk: a draft whose daemon was killed is removed by the next one. Each is a link in a directory of
 * the daemon's own: its target is the path of the draft.
 */
import { readdirSync, readlinkSync, rmSync, symlinkSync, unlink, unlinkSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { makePrivateDirectory } from '../../own-files/own-files.ts'
import { draftKind } from './draft-name.ts'

export interface DraftJournal {
  /** Writes down that a draft of this path may exist. The answer takes the entry out again. Never fails. */
  note(path: string): Promise<() => void>
  /** The same at once, for a draft that exists for a moment. */
  noteNow(path: string): () => void
  /** Removes what earlier daemons left. */
  sweep(): void
}

/** What the functions of a journal share. */
interface JournalContext {
  readonly dir: string
  readonly failed: (path: string, error: unknown) => void
}

/** The directory is made with the first entry. */
const withDirectory = <T>(dir: string, write: () => T): T => {
  try {
    return write()
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error
    makePrivateDirectory(dir)
    return write()
  }
}

const note = async ({ dir, failed }: JournalContext, path: string): Promise<() => void> => {
  const entry = join(dir, basename(path))
  try {
    await symlink(path, entry).catch(error => {
      if (errno(error) !== 'ENOENT') throw error
      makePrivateDirectory(dir)
      return symlink(path, entry)
    })
  } catch (error) {
    // On a full disk files can still be replaced; only a crash at this moment would leave the draft.
    failed(path, error)
    return () => {}
  }
  return () =>
    unlink(entry, error => {
      if (error && error.code !== 'ENOENT') failed(path, error)
    })
}

const noteNow = ({ dir, failed }: JournalContext, path: string): (() => void) => {
  const entry = join(dir, basename(path))
  try {
    withDirectory(dir, () => symlinkSync(path, entry))
  } catch (error) {
    failed(path, error)
    return () => {}
  }
  return () => {
    try {
      unlinkSync(entry)
    } catch (error) {
      if (errno(error) !== 'ENOENT') failed(entry, error)
    }
  }
}

const sweep = ({ dir, failed }: JournalContext): void => {
  let entries: string[]
  try {
    entries = readdirSync(dir)
  } catch (error) {
    if (errno(error) !== 'ENOENT') failed(dir, error)
    return
  }
  for (const name of entries) {
    const entry = join(dir, name)
    try {
      const path = readlinkSync(entry)
      if (draftKind(basename(path))) rmSync(path, { force: true })
      rmSync(entry)
    } catch (error) {
      failed(entry, error)
    }
  }
}

export const createDraftJournal = ({ dir, log }: { dir: string; log: Log }): DraftJournal => {
  const context = { dir, failed: (path: string, error: unknown) => log.warn('file.draft.journal', { path, error }) }
  return {
    note: path => note(context, path),
    noteNow: path => noteNow(context, path),
    sweep: () => sweep(context),
  }
}
