/**
 * The names of drafts that exist now, on disk: a draft whose daemon was killed is removed by the next one. Each is a link in a directory of
 * the daemon's own: its target is the path of the draft.
 */
import { readdirSync, readlinkSync, rmSync, unlink } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { makePrivateDirectory } from '../../own-files/own-files.ts'
import { draftKind } from './draft-name.ts'

export interface DraftJournal {
  /** Writes down that a draft of this path may exist. The answer takes the entry out again. Never fails. */
  note(path: string): Promise<() => void>
  /** Removes what earlier daemons left. */
  sweep(): void
}

export const createDraftJournal = ({ dir, log }: { dir: string; log: Log }): DraftJournal => {
  const failed = (path: string, error: unknown) => log.warn('file.draft.journal', { path, error })
  const write = async (path: string, entry: string): Promise<void> => {
    try {
      await symlink(path, entry)
    } catch (error) {
      if (errno(error) !== 'ENOENT') throw error
      makePrivateDirectory(dir)
      await symlink(path, entry)
    }
  }
  const removeDraft = (path: string): void => {
    if (draftKind(basename(path))) rmSync(path, { force: true })
  }
  return {
    async note(path) {
      const entry = join(dir, basename(path))
      try {
        await write(path, entry)
      } catch (error) {
        // On a full disk files can still be replaced; only a crash at this moment would leave the draft.
        failed(path, error)
        return () => {}
      }
      return () =>
        unlink(entry, error => {
          if (error && error.code !== 'ENOENT') failed(path, error)
        })
    },
    sweep() {
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
          removeDraft(readlinkSync(entry))
          rmSync(entry)
        } catch (error) {
          failed(entry, error)
        }
      }
    },
  }
}
