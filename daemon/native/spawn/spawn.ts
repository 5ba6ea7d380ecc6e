/** Starts programs with everything a tenant's process needs, in about a millisecond. */
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
  /** `argv`, including the program's name as `argv[0]`. */
  readonly args: readonly string[]
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  /**
   * `descriptors[i]` becomes descriptor `i` of the program; a negative one is /dev/null. Must give at least stdin,
   * stdout and stderr, at most 16. The program gets no others. They stay open here; the caller closes its own.
   */
  readonly descriptors: readonly number[]
  /** Starts a new session and process group; without it, `group` starts a new process group only. */
  readonly session?: boolean
  readonly group?: boolean
  /** Makes descriptor 0 the controlling terminal; needs `session`. */
  readonly terminal?: boolean
  /** Undefined: the program runs as the daemon's user. */
  readonly credentials?: Credentials
  /**
   * Capabilities (a mask of bits) to remove from the bounding set (`daemon/init/capabilities.ts`). The inheritable and
   * ambient sets are cleared.
   */
  readonly dropCapabilities?: bigint
  /** Sets no_new_privs: setuid programs give no more privileges. */
  readonly noNewPrivileges?: boolean
  /** -1000 to 1000. Best effort: lowering it needs CAP_SYS_RESOURCE. */
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

/** A program could not be started; `code` says why (`ENOENT`, `EACCES`, `EAGAIN`, …), `stage` at which step. */
export interface SpawnError extends NodeJS.ErrnoException {
  readonly stage: SpawnStage
}

/**
 * Starts a program and returns its pid as soon as it runs. Throws a `SpawnError` when it cannot be started, and then no
 * process is left. The end of the process is reported by the reaper (`daemon/init/reaper.ts`): libuv does not know this
 * child.
 */
export const spawnProcess = (options: SpawnOptions): number => {
  const { env, credentials, ...rest } = options
  const list = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const result = addon().spawn({ ...rest, ...credentials, env: list })
  if (result >= 0) return result
  const stage = stages[Math.floor(-result / 100_000)] ?? 'spawn'
  throw Object.assign(systemError('spawn', -result % 100_000, `${stage} of ${options.file}`), { stage })
}
