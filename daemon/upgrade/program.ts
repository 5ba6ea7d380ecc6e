/** The daemon's own process: how to start another beside it, and how to replace it. */
import { spawn } from 'node:child_process'
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs'
import { listenTcp } from '../native/descriptors/descriptors.ts'
import { programPath } from './anonymous-file.ts'
import { digestOf } from './bundles.ts'
import type { ListeningSocket } from './listening-socket.ts'
import { noHandover, sendHandover, type Inherited } from './handover.ts'

/** What the next daemon is told by this one. */
interface Handover extends Omit<Inherited, 'listener' | 'back'> {
  readonly upgradeCount: number
}

/** What can be started: the program of an open file, or a command whose files nobody in the sandbox can write. */
export type Startable = number | readonly string[]

/** A started candidate. */
export interface Candidate {
  /** Where it listens, on loopback. */
  readonly port: number
  /** Resolves with a description when it ends by itself. */
  readonly ended: Promise<string>
  stop(): Promise<void>
}

export interface Program {
  /** Starts a program as a rehearsal: only we can reach it, and it changes nothing. */
  start(what: Startable): Promise<Candidate>
  /** Where requests come in, once it listens; a daemon that is only called has none. */
  socket(): ListeningSocket | undefined
  /** Replaces this process, keeping its pid, children and arguments. Returns only by throwing. */
  replaceWith(what: Startable, handover: Handover): Promise<void>
  /** Restores the daemon that this one has replaced; returns when there is none. */
  rollBack(inherited: Inherited, reason: string): void
  /** Digest of the bundle that this daemon runs from, if it is one. */
  digest(): Promise<string | undefined>
}

interface OwnProcess {
  /** Those after the program. */
  readonly args: readonly string[]
  /** What this process was started with. */
  readonly env: NodeJS.ProcessEnv
  /** The file that Node runs. */
  readonly script?: string | undefined
  /** Where requests come in, once it listens. */
  readonly socket?: () => ListeningSocket | undefined
}

/** Makes the open file standard input: only the standard descriptors outlive an exec. */
const openAsInput = (fd: number): void => {
  const path = `/proc/self/fd/${fd}`
  if (fd !== 0) closeSync(0)
  const input = fd === 0 ? 0 : openSync(path, 'r')
  if (input !== 0) throw new Error(`the program is descriptor ${input}, not standard input`)
}

const commandOf = (what: Startable): readonly string[] => (typeof what === 'number' ? [programPath] : what)

/** The command of this process; undefined when its program is its standard input, which a replacement changes. */
const ownCommand = (): string[] | undefined => {
  const [first = '', ...rest] = readFileSync('/proc/self/cmdline', 'utf8').split('\0').slice(0, -1)
  if (rest.includes(programPath)) return undefined
  return [first.startsWith('/') ? first : process.execPath, ...rest]
}

/** Where a candidate finds its socket, after the standard descriptors. */
export const rehearsalFd = 3

const counting = (env: NodeJS.ProcessEnv, upgradeCount: number): NodeJS.ProcessEnv => ({
  ...env,
  SANDBOX_UPGRADE_COUNT: String(upgradeCount),
})

/**
 * `process.execve` aborts when it fails, and when PID 1 ends its sandbox ends: so what can be checked is checked first.
 */
const exec = (command: readonly string[], env: NodeJS.ProcessEnv, handover: Inherited): void => {
  const [file = ''] = command
  accessSync(file, constants.X_OK)
  if (!process.execve) throw new Error('this Node cannot replace its process')
  const passed = sendHandover(handover)
  try {
    process.execve(file, command, { ...env, ...passed.env })
  } finally {
    passed.keep()
  }
}

export const createProgram = ({ args: own, env, script, socket = () => undefined }: OwnProcess): Program => ({
  socket,
  digest: () => digestOf(script),
  async start(what) {
    const [file = '', ...args] = commandOf(what)
    // It listens already: a tenant can neither take the port before the candidate nor answer in its place.
    const { port, fd } = listenTcp(0, '127.0.0.1')
    try {
      const child = spawn(file, [...args, '--port', String(port)], {
        stdio: [typeof what === 'number' ? what : 'ignore', 'ignore', 'inherit', fd],
        env: { ...env, ...noHandover, HUTCH_REHEARSAL: '1' },
      })
      const ended = new Promise<string>(resolve => {
        child.once('error', error => resolve(error.message))
        child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
      })
      const stop = async () => {
        child.kill('SIGKILL')
        await ended
      }
      return { port, ended, stop }
    } finally {
      closeSync(fd)
    }
  },
  async replaceWith(what, { upgradeCount, ...handover }) {
    const command = ownCommand()
    if (typeof what === 'number') openAsInput(what)
    exec([...commandOf(what), ...own], counting(env, upgradeCount), {
      ...handover,
      listener: socket()?.inheritable,
      back: command && { command, upgradeCount: upgradeCount - 1 },
    })
  },
  rollBack({ back, ...inherited }, reason) {
    if (back === undefined) return
    const { lastUpgrade = { version: '' } } = inherited
    const error = `the new release did not start: ${reason}`
    exec(back.command, counting(env, back.upgradeCount), {
      ...inherited,
      lastUpgrade: { ...lastUpgrade, status: 'failed', step: 'replace', error },
    })
  },
})
