/** Runs the host's own tools: absolute path, empty environment, bounded in time, stderr in the error. */
import { existsSync } from 'node:fs'
import { getSystemErrorMessage } from 'node:util'
import { fail } from '../../../shared/errors.ts'
import { command } from '../../../shared/installation.ts'
import { runProcess, type ProcessEnd } from './process/run-process.ts'

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

const execute = ({ file, args, input, signal }: Run, late: AbortSignal) =>
  runProcess({
    file,
    args,
    env: environment,
    input,
    capture: true,
    // A Ctrl-C that stops the server must not end what cleans up after it.
    session: true,
    signal: signal ? AbortSignal.any([signal, late]) : late,
  })

/** Signals that a terminal or a supervisor sends to the server's whole process group. */
const groupSignals: readonly (string | undefined)[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

const endOf = ({ errno, code, signal }: ProcessEnd, file: string): string =>
  errno === 0 ? `${file} ended with ${signal ?? code}` : `${file} cannot be started: ${getSystemErrorMessage(-errno)}`

/** Stdout of the command; throws `driver_failed` with the end of its stderr. */
export const run = async (wanted: Run): Promise<string> => {
  const { step, file, signal, timeoutMs = defaultTimeoutMs } = wanted
  signal?.throwIfAborted()
  const late = AbortSignal.timeout(timeoutMs)
  let result = await execute(wanted, late)
  // Such a signal still hits a child that has not got its own session yet, and so has done nothing.
  for (let again = 0; again < 5 && groupSignals.includes(result.signal); again++) result = await execute(wanted, late)
  // A last line break is not part of an answer.
  if (result.errno === 0 && result.code === 0 && !result.signal) return result.output.replace(/\n$/, '')
  signal?.throwIfAborted()
  const said = result.said.trim().slice(-2_000)
  const how = late.aborted ? `still running after ${timeoutMs} ms` : endOf(result, file)
  throw fail('driver_failed', { driver: 'oci', step, reason: said || how })
}

export { environment as toolEnvironment }
