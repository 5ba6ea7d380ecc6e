/** A pseudo-terminal with a shell on it, which is started like any tenant process. */
import { closeSync, fchownSync } from 'node:fs'
import { ReadStream } from 'node:tty'
import type { Clock } from '../../shared/clock.ts'
import type { PtyOpener } from '../native/pty/pty.ts'
import { spawnProcess } from '../native/spawn/spawn.ts'
import type { Identity } from '../identity/index.ts'
import { tenantOomScore } from '../init/protect.ts'
import { completeLength } from '../utf8-boundary.ts'
import { createPtyWriter, type PtyWriter } from './pty-writer.ts'

export interface Pty {
  /** Pid of the shell, which leads a session of its own. */
  readonly pid: number
  /** The master side. */
  readonly fd: number
  /** The first bytes of a character whose other bytes were not read yet. */
  readonly rest: Buffer
  readonly input: PtyWriter
  resize(cols: number, rows: number): void
  /**
   * Resolves when all that was written to the terminal has been given to `onOutput`: its last process has closed it, or, since a
   * process may hold it for ever, nothing came for `quietMs`; after `patienceMs` in any case.
   */
  drained(): Promise<void>
  close(): void
}

export interface PtyOptions extends Ends {
  readonly shell: string
  readonly cwd: string
  readonly env: Record<string, string>
  readonly cols: number
  readonly rows: number
  readonly identity: Identity | undefined
  readonly dropCapabilities: bigint
}

const nothing = Buffer.alloc(0)

/** The kernel hands on what was written within a few milliseconds, on a busy box within some tens. */
const quietMs = 250
const patienceMs = 2_000

/** What the daemon before this one handed over of a terminal. */
interface LeftPty {
  readonly fd: number
  readonly pid: number
  /** The first bytes of a character whose other bytes were not read yet. */
  readonly rest: Buffer
  /** Input that the terminal has not taken yet. */
  readonly typed: Buffer
}

/** What a terminal is connected to. */
interface Ends {
  readonly opener: PtyOpener
  readonly clock: Pick<Clock, 'after'>
  readonly onOutput: (text: string) => void
}

const connect = ({ fd: master, pid, rest: before, typed }: LeftPty, { opener, clock, onOutput }: Ends): Pty => {
  const stream = new ReadStream(master)
  const input = createPtyWriter(master, clock, typed)
  let rest = before
  let open = true
  let heard = () => {}
  stream.on('data', (piece: Buffer) => {
    heard()
    const bytes = rest.length > 0 ? Buffer.concat([rest, piece]) : piece
    const whole = completeLength(bytes)
    rest = Buffer.from(bytes.subarray(whole))
    if (whole > 0) onOutput(bytes.toString('utf8', 0, whole))
  })
  // Reading gives EIO once the last process has closed the other side: the terminal has ended.
  stream.on('error', () => {})
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  for (const last of ['error', 'end', 'close']) stream.once(last, () => end())
  const drained = async (): Promise<void> => {
    const cancelLimit = clock.after(patienceMs, end)
    let cancelQuiet = clock.after(quietMs, end)
    heard = () => {
      cancelQuiet()
      cancelQuiet = clock.after(quietMs, end)
    }
    await over
    heard = () => {}
    cancelLimit()
    cancelQuiet()
  }
  return {
    pid,
    fd: master,
    get rest() {
      return rest
    },
    input,
    resize(width, height) {
      if (open) opener.resize(master, width, height)
    },
    drained,
    close() {
      if (!open) return
      open = false
      input.close()
      stream.destroy()
    },
  }
}

/** Starts the shell. Throws the `SpawnError` when it cannot be started; then nothing is left. */
export const openPty = (options: PtyOptions): Pty => {
  const { shell, cwd, env, cols, rows, identity, dropCapabilities } = options
  const { master, slave } = options.opener.open(cols, rows)
  let pid: number
  try {
    if (identity) fchownSync(slave, identity.uid, identity.gid)
    pid = spawnProcess({
      file: shell,
      args: [shell],
      env,
      cwd,
      descriptors: [slave, slave, slave],
      session: true,
      terminal: true,
      dropCapabilities,
      oomScore: tenantOomScore,
      ...(identity ? { credentials: identity } : {}),
    })
  } catch (error) {
    closeSync(master)
    throw error
  } finally {
    closeSync(slave)
  }
  return connect({ fd: master, pid, rest: nothing, typed: nothing }, options)
}

/** Continues with the terminal that the daemon before this one left open over its exec. */
export const inheritedPty = (left: LeftPty, ends: Ends): Pty => connect(left, ends)
