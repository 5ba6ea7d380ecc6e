/** The process this daemon is: how to start another like it, and how to become another. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { descriptorOf } from '../../../shared/http/listen.ts'
import { programPath } from './anonymous.ts'
import { digestOf } from './bundles.ts'
import type { Door } from './door.ts'
import { nothingPassedOn, passOn, type Inherited } from './handover.ts'
import type { Candidate } from './rehearse.ts'

/** What the next daemon is told by this one. */
export interface Handover extends Omit<Inherited, 'listener' | 'back'> {
  readonly upgradeCount: number
}

/** What can be started: the program of an open file, or a command whose files nobody in the sandbox can write. */
export type Startable = number | readonly string[]

export interface Program {
  /** Starts a program beside us: it listens for us alone and changes nothing. */
  start(what: Startable): Promise<Candidate>
  /** Where requests come in; a daemon that is only called has none. */
  readonly door: Door | undefined
  /** Replaces this process, keeping its pid, children and arguments. Does not come back, unless by throwing. */
  become(what: Startable, handover: Handover): Promise<void>
  /** Becomes the daemon again that this one has replaced; comes back when it was not told of any. */
  goBack(inherited: Inherited, reason: string): void
  /** Digest of the bundle this daemon is from, if it is from one. */
  digest(): Promise<string | undefined>
}

export interface Own {
  /** Those after the program. */
  readonly args: readonly string[]
  /** What this process was started with. */
  readonly env: NodeJS.ProcessEnv
  /** The file that Node runs. */
  readonly script?: string | undefined
  /** Where requests come in. */
  readonly door?: Door
}

/** Makes the open file standard input: of all descriptors only the standard ones outlive an exec. */
const openAsInput = (fd: number): void => {
  const path = `/proc/self/fd/${fd}`
  if (fd !== 0) closeSync(0)
  const input = fd === 0 ? 0 : openSync(path, 'r')
  if (input !== 0) throw new Error(`the program is descriptor ${input}, not standard input`)
}

const commandOf = (what: Startable): readonly string[] => (typeof what === 'number' ? [programPath] : what)

/** The command of this process, unless its program is gone once its standard input is another's. */
const ownCommand = (): string[] | undefined => {
  const [first = '', ...rest] = readFileSync('/proc/self/cmdline', 'utf8').split('\0').slice(0, -1)
  if (rest.includes(programPath)) return undefined
  return [first.startsWith('/') ? first : process.execPath, ...rest]
}

/** Where a candidate finds its socket, behind the standard descriptors. */
export const rehearsalSocket = { fd: 3 } as const

/**
 * A socket on loopback that listens, for a child. Whoever answers there is the child: a tenant can neither take the port
 * before it nor answer in its place.
 */
const openSocket = async (): Promise<{ port: number; fd: number; close: () => void }> => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const fd = descriptorOf(server)
  if (fd === undefined) throw new Error('a server without a descriptor')
  return { port: (server.address() as AddressInfo).port, fd, close: () => void server.close() }
}

const counting = (env: NodeJS.ProcessEnv, upgradeCount: number): NodeJS.ProcessEnv => ({
  ...env,
  SANDBOX_UPGRADE_COUNT: String(upgradeCount),
})

/** `process.execve` aborts when it fails, and the end of PID 1 is the end of its sandbox: what can be known is asked before. */
const exec = (command: readonly string[], env: NodeJS.ProcessEnv, handover: Inherited): void => {
  const [file = ''] = command
  accessSync(file, constants.X_OK)
  if (!process.execve) throw new Error('this Node cannot replace its process')
  const passed = passOn(handover)
  try {
    process.execve(file, command, { ...env, ...passed.env })
  } finally {
    passed.keep()
  }
}

export const programOf = ({ args: own, env, script, door }: Own): Program => ({
  door,
  digest: () => digestOf(script),
  async start(what) {
    const [file = '', ...args] = commandOf(what)
    const { port, fd, close } = await openSocket()
    try {
      const child = spawn(file, [...args, '--port', String(port)], {
        stdio: [typeof what === 'number' ? what : 'ignore', 'ignore', 'inherit', fd],
        env: { ...env, ...nothingPassedOn, HUTCH_REHEARSAL: '1' },
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
      close()
    }
  },
  async become(what, { upgradeCount, ...handover }) {
    const command = ownCommand()
    if (typeof what === 'number') openAsInput(what)
    exec([...commandOf(what), ...own], counting(env, upgradeCount), {
      ...handover,
      listener: door?.place,
      back: command && { command, upgradeCount: upgradeCount - 1 },
    })
  },
  goBack({ back, ...inherited }, reason) {
    if (back === undefined) return
    const { lastUpgrade = { version: '' } } = inherited
    const error = `the new release did not start: ${reason}`
    exec(back.command, counting(env, back.upgradeCount), {
      ...inherited,
      lastUpgrade: { ...lastUpgrade, status: 'failed', step: 'replace', error },
    })
  },
})
