/** The process this daemon is: how to start another like it, and how to become another. */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { LastUpgrade } from '../../../shared/wire/system.ts'
import { programPath } from './anonymous.ts'
import { digestOf } from './bundles.ts'
import type { Candidate } from './rehearse.ts'

/** What the next daemon is told by this one, in its environment. */
export interface Handover {
  readonly upgradeCount: number
  readonly lastUpgrade: LastUpgrade
  /** `changes()` of the live environment. */
  readonly environment: Readonly<Record<string, string | null>>
  /** Open descriptors by process record; told apart from others of the same number by their inode. */
  readonly pipes: readonly { id: number; fd: number; inode: number }[]
  /** Pid of the command of `-c`, while it runs. */
  readonly command: number | undefined
}

/** What can be started: the program of an open file, or a command whose files nobody in the sandbox can write. */
export type Startable = number | readonly string[]

export interface Program {
  /** Starts a program beside us: it listens on `port` and changes nothing. */
  start(what: Startable, port: number): Candidate
  /** Replaces this process, keeping its pid, children and arguments. Does not come back. */
  become(what: Startable, handover: Handover): Promise<void>
  /** Digest of the bundle this daemon is from, if it is from one. */
  digest(): Promise<string | undefined>
}

/** The environment variables of a handover; `HUTCH_` names never reach a tenant's process. */
export const handoverEnvironment = ({
  upgradeCount,
  lastUpgrade,
  environment,
  pipes,
  command,
}: Handover): Record<string, string> => ({
  SANDBOX_UPGRADE_COUNT: String(upgradeCount),
  HUTCH_LAST_UPGRADE: JSON.stringify(lastUpgrade),
  HUTCH_LIVE_ENVIRONMENT: JSON.stringify(environment),
  HUTCH_PIPES: JSON.stringify(pipes),
  HUTCH_COMMAND_PID: command === undefined ? '' : String(command),
})

/** Makes the open file standard input: of all descriptors only the standard ones outlive an exec. */
const openAsInput = (fd: number): void => {
  const path = `/proc/self/fd/${fd}`
  if (fd !== 0) closeSync(0)
  const input = fd === 0 ? 0 : openSync(path, 'r')
  if (input !== 0) throw new Error(`the program is descriptor ${input}, not standard input`)
}

const commandOf = (what: Startable): readonly string[] => (typeof what === 'number' ? [programPath] : what)

/** `args` are those after the program, `env` what this process was started with, `script` the file that Node runs. */
export const programOf = (own: {
  args: readonly string[]
  env: Readonly<NodeJS.ProcessEnv>
  script?: string | undefined
}): Program => ({
  digest: () => digestOf(own.script),
  start(what, port) {
    const [file = '', ...args] = commandOf(what)
    const child = spawn(file, [...args, '--port', String(port)], {
      stdio: [typeof what === 'number' ? what : 'ignore', 'ignore', 'inherit'],
      env: { ...own.env, HUTCH_REHEARSAL: '1' },
    })
    const ended = new Promise<string>(resolve => {
      child.once('error', error => resolve(error.message))
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    })
    return {
      ended,
      async stop() {
        child.kill('SIGKILL')
        await ended
      },
    }
  },
  async become(what, handover) {
    if (typeof what === 'number') openAsInput(what)
    const [file = '', ...args] = commandOf(what)
    process.execve?.(file, [file, ...args, ...own.args], { ...own.env, ...handoverEnvironment(handover) })
    throw new Error('this Node cannot replace its process')
  },
})
