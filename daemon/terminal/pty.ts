/** A pseudo-terminal with a shell on it. node-pty opens and sizes it; the shell is started like any tenant process. */
import { chownSync, closeSync, constants, openSync } from 'node:fs'
import { ReadStream } from 'node:tty'
import * as nodePty from 'node-pty'
import type { Clock } from '../../shared/clock.ts'
import { keepOverExec } from '../native/pipe/pipe.ts'
import { spawnProcess } from '../native/spawn/spawn.ts'
import type { Identity } from '../identity/index.ts'
import { tenantOomScore } from '../init/protect.ts'
import { completeLength } from '../utf8-boundary.ts'
import { createPtyWriter, type PtyWriter } from './pty-writer.ts'

/** The part of node-pty's binding that is used (its own types leave it out). */
interface PtyBinding {
  open(cols: number, rows: number): { master: number; slave: number; pty: string }
  resize(fd: number, cols: number, rows: number): void
}

export interface Pty {
  /** Pid of the shell, which leads a session of its own. */
  readonly pid: number
  /** The master side. */
  readonly fd: number
  /** The first bytes of a character whose other bytes were not read yet. */
  readonly rest: Buffer
  readonly input: PtyWriter
  resize(cols: number, rows: number): void
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
const binding = (nodePty as unknown as { native: PtyBinding }).native

/**
 * Both ends. node-pty makes the slave non-blocking, and the flag would be the shell's and its children's too: what they
 * write faster than we read would fail with EAGAIN. So the slave is opened again by its name.
 */
const openPair = (cols: number, rows: number): { master: number; slave: number; pty: string } => {
  const opened = binding.open(cols, rows)
  try {
    // The terminal would not end while a child of the daemon held it.
    keepOverExec(opened.master, false)
    return { ...opened, slave: openSync(opened.pty, constants.O_RDWR | constants.O_NOCTTY) }
  } catch (error) {
    closeSync(opened.master)
    throw error
  } finally {
    closeSync(opened.slave)
  }
}

/** What an earlier daemon left of a terminal. */
export interface LeftPty {
  readonly fd: number
  readonly pid: number
  /** The first bytes of a character whose other bytes were not read yet. */
  readonly rest: Buffer
  /** Input that the terminal has not taken yet. */
  readonly typed: Buffer
}

/** What a terminal is connected to. */
interface Ends {
  readonly clock: Pick<Clock, 'after'>
  readonly onOutput: (text: string) => void
}

const connect = ({ fd: master, pid, rest: before, typed }: LeftPty, { clock, onOutput }: Ends): Pty => {
  const stream = new ReadStream(master)
  const input = createPtyWriter(master, clock, typed)
  let rest = before
  let open = true
  stream.on('data', (piece: Buffer) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, piece]) : piece
    const whole = completeLength(bytes)
    rest = Buffer.from(bytes.subarray(whole))
    if (whole > 0) onOutput(bytes.toString('utf8', 0, whole))
  })
  // The kernel answers EIO once the last process has closed the other side: that is how a terminal ends.
  stream.on('error', () => {})
  return {
    pid,
    fd: master,
    get rest() {
      return rest
    },
    input,
    resize(width, height) {
      if (open) binding.resize(master, width, height)
    },
    close() {
      if (!open) return
      open = false
      input.close()
      stream.destroy()
    },
  }
}

/** Starts the shell; throws the `SpawnError` when it cannot be started, and nothing is left then. */
export const openPty = (options: PtyOptions): Pty => {
  const { shell, cwd, env, cols, rows, identity, dropCapabilities } = options
  const { master, slave, pty } = openPair(cols, rows)
  let pid: number
  try {
    if (identity) chownSync(pty, identity.uid, identity.gid)
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

/** Goes on with the terminal that an earlier daemon left open over its exec. */
export const inheritedPty = (left: LeftPty, ends: Ends): Pty => connect(left, ends)
