/**
 * Walks a directory in lexical order, depth first, without following links; `/proc` and `/sys` are visited but not
 * entered.
 */
import { posix } from 'node:path'
import { getSystemErrorMessage, getSystemErrorName } from 'node:util'
import { textOf } from '../../../shared/utf8.ts'
import { startOfWalk } from '../../native/search/search.ts'
import { kernelFilesystems } from '../kernel-filesystems.ts'
import type { FilePort } from '../port.ts'

interface Visited {
  readonly name: string
  /** Links are `other`. */
  readonly kind: 'file' | 'directory' | 'other'
}

interface Walk {
  /** Base names of directories that are skipped; the start is exempt. */
  readonly exclude: ReadonlySet<string>
  readonly skipHidden: boolean
  /** Called for each entry with its path relative to the start; false ends the walk. */
  visit(relative: string, entry: Visited): boolean
  /** What to do about a directory that cannot be read; throw to end the walk. */
  onError(error: unknown): void
}

/** Few at first: most who ask want the first matches. */
const firstBudget = 512
const maxBudget = 16_384

const listOf = (names: Iterable<string>): Buffer => Buffer.from([...names].map(name => `${name}\0`).join(''))

const kinds: Readonly<Record<string, Visited['kind']>> = { f: 'file', d: 'directory', o: 'other' }

/** `13 some/directory` of a record as a system error. */
const failureIn = (start: string, said: string): NodeJS.ErrnoException => {
  const space = said.indexOf(' ')
  const errno = -Number(said.slice(0, space))
  const path = posix.join(start, said.slice(space + 1))
  const code = getSystemErrorName(errno)
  const message = `${code}: ${getSystemErrorMessage(errno)}, scandir '${path}'`
  return Object.assign(new Error(message), { code, errno, syscall: 'scandir', path })
}

/** Resolves when everything was visited or `visit` returned false; throws when aborted. */
export const walk = async (port: FilePort, start: string, rules: Walk, signal: AbortSignal): Promise<void> => {
  const { skipHidden, visit, onError } = rules
  const excluded = listOf(rules.exclude)
  const closed = listOf(kernelFilesystems)
  let pending = startOfWalk
  for (let budget = firstBudget; pending.length > 0; budget = Math.min(budget * 4, maxBudget)) {
    signal.throwIfAborted()
    const step = await port.walk({ start, pending, excluded, closed, skipHidden, budget })
    for (const record of textOf(step.visited).split('\0')) {
      const path = record.slice(1)
      if (record[0] === '!') onError(failureIn(start, path))
      else if (record !== '') {
        const kind = kinds[record[0] as string] ?? 'other'
        if (!visit(path, { name: path.slice(path.lastIndexOf('/') + 1), kind })) return
      }
    }
    pending = step.pending
  }
}
