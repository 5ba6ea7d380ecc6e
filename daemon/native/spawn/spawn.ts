/** Starts programs with everything a tenant process needs, in about a millisecond and without a handle. */
import { lazy, loadAddon, systemError } from '../load.ts'

/** Who a process runs as. */
export interface Credentials {
  readonly uid: number
  readonly gid: number
  /** Supplementary groups; the primary one need not be listed. */
  readonly groups: readonly number[]
}

export interface SpawnOptions {
  /** Absolute path of the program; there is no search. */
  readonly file: string
  /** `argv`, including the name the program sees as its own. */
  readonly args: readonly string[]
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  /**
   * `descriptors[i]` becomes descriptor `i` of the program; a negative one is /dev/null. At least stdin, stdout and
   * stderr, at most 16. All others are closed. They stay open here: the caller closes its own.
   */
  readonly descriptors: readonly number[]
  /** A new session (and process group); else `group` makes only a new process group. */
  readonly session?: boolean
  readonly group?: boolean
  /** Makes descriptor 0 the controlling terminal; needs `session`. */
  readonly terminal?: boolean
  /** Unset: the program runs as we do. */
  readonly credentials?: Credentials
  /** Bits to remove from the bounding set, for good (`daemon/init/capabilities.ts`). Inheritable and ambient are cleared. */
  readonly dropCapabilities?: bigint
  /** Forbids gaining privileges through setuid programs. */
  readonly noNewPrivileges?: boolean
  /** -1000 to 1000; best effort, because lowering it needs CAP_SYS_RESOURCE. */
  readonly oomScore?: number
  /** Sent to the program when the thread that spawned it ends. */
  readonly deathSignal?: number
  readonly umask?: number
}

interface SpawnAddon {
  spawn(options: object): number
}

const addon = lazy(() => loadAddon<SpawnAddon>('spawn'))
const stages = [
  'spawn',
  'descriptors',
  'session',
  'oom',
  'capabilities',
  'identity',
  'privileges',
  'directory',
  'exec',
] as const

/** The step at which the new process failed; `spawn` is the fork itself. */
type SpawnStage = (typeof stages)[number]

/** A start that failed; `code` says why (`ENOENT`, `EACCES`, `EAGAIN`, …), `stage` where. */
export interface SpawnError extends NodeJS.ErrnoException {
  readonly stage: SpawnStage
}

/**
 * Starts a program and returns its pid as soon as it runs. Throws a `SpawnError` when it does not, and then no process
 * is left behind. The caller learns about the end from the reaper (`daemon/init/reaper.ts`): libuv knows nothing of
 * this child.
 */
export const spawnProcess = (options: SpawnOptions): number => {
  const { env, credentials, ...rest } = options
  const list = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const result = addon().spawn({ ...rest, ...credentials, env: list })
  if (result >= 0) return result
  const stage = stages[Math.floor(-result / 100_000)] ?? 'spawn'
  throw Object.assign(systemError('spawn', -result % 100_000, `${stage} of ${options.file}`), { stage })
}
