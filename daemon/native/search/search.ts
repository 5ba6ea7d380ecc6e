/** Walks directories and searches files, thousands of entries a call, on threads of libuv's pool (`search.c`). */
import { check, lazy, loadAddon } from '../load.ts'

interface SearchAddon {
  walk(
    uid: number,
    gid: number,
    start: string,
    pending: Buffer,
    excluded: Buffer,
    closed: Buffer,
    skipHidden: boolean,
    budget: number,
  ): Promise<Buffer | number> | number
  search(
    uid: number,
    gid: number,
    start: string,
    paths: Buffer,
    needle: Buffer,
    form: number,
    limit: number,
  ): Promise<Buffer | number> | number
}

interface SearchUser {
  readonly uid: number
  readonly gid: number
}

/** What a step of a walk is told. Lists end each of their items with a NUL. */
export interface WalkStep {
  /** An absolute path. */
  readonly start: string
  /** Records of what is to be visited, in order; see `startOfWalk`. */
  readonly pending: Buffer
  /** Names of directories that are left out. */
  readonly excluded: Buffer
  /** Absolute paths of directories that are visited and not entered. */
  readonly closed: Buffer
  readonly skipHidden: boolean
  /** How many entries to visit at most. */
  readonly budget: number
}

/**
 * `exact`: these bytes. `folded`: ASCII in lower case, capitals count as such. `variants`: for each character a byte that says how many ways there
 * are to write it, and for each of these its length in a byte, and its bytes.
 */
export interface Needle {
  readonly form: 'exact' | 'folded' | 'variants'
  readonly bytes: Buffer
}

/** In the order of the addon's enumeration. */
const forms: readonly Needle['form'][] = ['exact', 'folded', 'variants']

/** What files are searched for. */
export interface FileSearch {
  /** An absolute path. */
  readonly start: string
  /** The files, relative to the start, each ended by a NUL. */
  readonly paths: Buffer
  readonly needle: Needle
  /** Lines at most. */
  readonly limit: number
}

const addon = lazy(() => loadAddon<SearchAddon>('search'))
const ours: SearchUser = { uid: -1, gid: -1 }

/** The pending records of a walk that has not begun: the start itself, a directory without a name. */
export const startOfWalk: Buffer = Buffer.from('d\0')

/**
 * Visits the next entries, depth first and by name, with the rights of `user` or, when undefined, our own. A record is a letter and a path relative to the
 * start, ended by a NUL: `f` a regular file, `d` a directory, `o` anything else, links too; `!13 path` says why a directory cannot be read. Throws
 * `ENOMEM`, and `EPERM` when the ids cannot be taken on.
 */
export const walkDirectories = async (
  user: SearchUser | undefined,
  step: WalkStep,
): Promise<{ visited: Buffer; pending: Buffer }> => {
  const { uid, gid } = user ?? ours
  const { start, pending, excluded, closed, skipHidden, budget } = step
  const answer = await addon().walk(uid, gid, start, pending, excluded, closed, skipHidden, budget)
  if (typeof answer === 'number')
    return { visited: Buffer.alloc(check('walk', answer, start)), pending: Buffer.alloc(0) }
  const end = 4 + answer.readUInt32LE(0)
  return { visited: answer.subarray(4, end), pending: answer.subarray(end) }
}

/** Bytes before the text of each line that was found: its number, its column, which file, the length of the text. */
export const hitBytes = 24

/**
 * Searches files for lines with the needle, with the rights of `user` or our own; a file that cannot be read is passed over. Answers
 * hits of `hitBytes`, each followed by the text of its line. Throws `ENOMEM`, and `EPERM` when the ids cannot be taken on.
 */
export const searchFiles = async (user: SearchUser | undefined, search: FileSearch): Promise<Buffer> => {
  const { uid, gid } = user ?? ours
  const { start, paths, needle, limit } = search
  const answer = await addon().search(uid, gid, start, paths, needle.bytes, forms.indexOf(needle.form), limit)
  return typeof answer === 'number' ? Buffer.alloc(check('search', answer, start)) : answer
}
