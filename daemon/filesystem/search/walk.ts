/**
 * Walks a directory in lexical order, depth first, without following links; `/proc` and `/sys` are visited but not
 * entered.
 */
import { posix } from 'node:path'
import { kernelFilesystems } from '../kernel-filesystems.ts'
import type { Entry, FilePort } from '../port.ts'

interface Walk {
  /** Base names of directories that are skipped; the start is exempt. */
  readonly exclude: ReadonlySet<string>
  readonly skipHidden: boolean
  /** Called for each entry with its path relative to the start; false ends the walk. */
  visit(relative: string, entry: Entry): boolean
  /** What to do about a directory that cannot be read; throw to end the walk. */
  onError(error: unknown): void
}

const byName = (a: Entry, b: Entry) => (a.name < b.name ? -1 : 1)

/** Resolves when everything was visited or `visit` returned false; throws when aborted. */
export const walk = async (port: FilePort, start: string, rules: Walk, signal: AbortSignal): Promise<void> => {
  const { exclude, skipHidden, visit, onError } = rules
  const enter = async (relative: string): Promise<boolean> => {
    signal.throwIfAborted()
    let entries: Entry[]
    try {
      entries = await port.readdir(posix.join(start, relative))
    } catch (error) {
      onError(error)
      return true
    }
    for (const entry of entries.sort(byName)) {
      const directory = entry.kind === 'directory'
      if (skipHidden && entry.name.startsWith('.')) continue
      if (directory && exclude.has(entry.name)) continue
      const at = relative === '' ? entry.name : `${relative}/${entry.name}`
      if (!visit(at, entry)) return false
      if (directory && !kernelFilesystems.has(posix.join(start, at)) && !(await enter(at))) return false
    }
    return true
  }
  await enter('')
}
