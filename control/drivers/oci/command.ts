/** Runs the host's own tools: absolute path, empty environment, bounded in time, stderr in the error. */
import { existsSync } from 'node:fs'
import { execa } from 'execa'
import { fail } from '../../../shared/errors.ts'
import { command } from '../../../shared/installation.ts'

const directories = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin', '/usr/local/bin']

/** Absolute path of a tool, or undefined; PATH is not asked, because a service's often lacks sbin. */
export const locate = (name: string): string | undefined =>
  directories.map(directory => `${directory}/${name}`).find(path => existsSync(path))

/** Like `locate`, throwing `driver_failed` that says what to install. */
export const tool = (name: string): string => {
  const path = locate(name)
  if (path) return path
  throw fail('driver_failed', {
    driver: 'oci',
    step: 'tools',
    reason: `"${name}" is not installed; install it and run ${command('doctor')}`,
  })
}

export interface Run {
  readonly step: string
  readonly file: string
  readonly args: readonly string[]
  readonly input?: string
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
}

const defaultTimeoutMs = 30_000

const environment = { PATH: directories.join(':'), LC_ALL: 'C' }

const execute = ({ file, args, input, signal, timeoutMs = defaultTimeoutMs }: Run) =>
  execa(file, args, {
    ...(input === undefined ? { stdin: 'ignore' as const } : { input }),
    ...(signal ? { cancelSignal: signal } : {}),
    env: environment,
    extendEnv: false,
    // In a session of its own: a Ctrl-C that stops the server must not end what cleans up after it.
    detached: true,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    reject: false,
    maxBuffer: 16 * 1024 * 1024,
  })

/** Signals that a terminal or a supervisor sends to the server's whole process group. */
const groupSignals: readonly (string | undefined)[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Stdout of the command; throws `driver_failed` with the end of its stderr. */
export const run = async (wanted: Run): Promise<string> => {
  const { step, signal, timeoutMs = defaultTimeoutMs } = wanted
  let result = await execute(wanted)
  // Such a signal still hits a child that has not got its own session yet, and so has done nothing.
  for (let again = 0; again < 5 && groupSignals.includes(result.signal); again++) result = await execute(wanted)
  if (!result.failed) return result.stdout
  signal?.throwIfAborted()
  const said = result.stderr.trim().slice(-2_000)
  const how = result.timedOut ? `still running after ${timeoutMs} ms` : (result.shortMessage ?? '').split('\n')[0]
  throw fail('driver_failed', { driver: 'oci', step, reason: said || how || 'failed without a word' })
}

export { environment as toolEnvironment }
