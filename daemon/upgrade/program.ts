/** The daemon's own process: how to start another beside it, and how to replace it. */
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs'
import { programPath } from './anonymous-file.ts'
import { keepOverExec } from '../native/descriptors/descriptors.ts'
import { privateFd } from '../config/private-place.ts'
import { startCandidate, type Candidate } from './candidate.ts'
import type { BootDocument } from '../../shared/wire/host.ts'
import type { Entrances } from './listening-socket.ts'
import { sendHandover, type Inherited } from './handover.ts'

/** What the next daemon is told by this one. */
interface Handover extends Omit<Inherited, 'listener' | 'channel' | 'back'> {
  readonly upgradeCount: number
}

/** What can be started: the program of an open file, or a command whose files nobody in the sandbox can write. */
export type Startable = number | readonly string[]

export interface Program {
  /** Starts a program as a rehearsal: only we can reach it, and it changes nothing. */
  start(what: Startable): Promise<Candidate>
  /** Whether this daemon tells its callers apart; one that replaces it must do so too. */
  keyed(): boolean
  /** Where requests come in, once it listens; a daemon that is only called has none. */
  socket(): Entrances | undefined
  /** Replaces this process, keeping its pid, children and arguments. Returns only by throwing. */
  replaceWith(what: Startable, handover: Handover): Promise<void>
  /** Restores the daemon that this one has replaced; returns when there is none. */
  rollBack(inherited: Inherited, reason: string): void
}

interface OwnProcess {
  /** Those after the program. */
  readonly args: readonly string[]
  /** What this process was started with. */
  readonly env: NodeJS.ProcessEnv
  /** Where requests come in, once it listens. */
  readonly socket?: () => Entrances | undefined
  /** What the host has given by now, if anybody hosts this daemon. */
  readonly boot?: () => BootDocument | undefined
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
  const place = privateFd(env)
  if (place !== undefined) keepOverExec(place, true)
  try {
    process.execve(file, command, { ...env, ...passed.env })
  } finally {
    passed.keep()
    if (place !== undefined) keepOverExec(place, false)
  }
}

export const createProgram = ({
  args: own,
  env,
  socket = () => undefined,
  boot = () => undefined,
}: OwnProcess): Program => ({
  socket,
  keyed: () => boot() !== undefined,
  async start(what) {
    return startCandidate({
      command: [...commandOf(what), ...own],
      input: typeof what === 'number' ? what : undefined,
      env,
      boot: boot(),
    })
  },
  async replaceWith(what, { upgradeCount, ...handover }) {
    const command = ownCommand()
    if (typeof what === 'number') openAsInput(what)
    exec([...commandOf(what), ...own], counting(env, upgradeCount), {
      ...handover,
      ...socket()?.inheritable,
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
