/** Runs a command in a sandbox and brings back all it wrote, however much and however long. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Owner } from '../store/store.ts'
import type { DaemonCall } from './daemon.ts'

export interface ExecOptions {
  /** Run by a shell. */
  readonly command: string
  readonly workingDir?: string
  readonly env?: Readonly<Record<string, string>>
  /** The command is killed after so many seconds; absent means never. */
  readonly timeoutSeconds?: number
  /** Output as it comes, in pieces of any size. */
  readonly onStdout?: (text: string) => void
  readonly onStderr?: (text: string) => void
  /** Aborting kills the command and rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

export interface ExecResult {
  /** -1 when a signal ended it. */
  readonly exitCode: number
  /** `completed` is exit code 0. */
  readonly status: 'completed' | 'failed' | 'killed' | 'stopped'
  readonly stdout: string
  readonly stderr: string
}

interface Event {
  readonly type: string
  readonly data?: string
}

const collect = async (body: Readable, options: ExecOptions): Promise<ExecResult> => {
  const stdout: string[] = []
  const stderr: string[] = []
  for await (const line of createInterface({ input: body, crlfDelay: Number.POSITIVE_INFINITY })) {
    const { type, data = '' } = JSON.parse(line) as Event
    if (type === 'stdout') {
      stdout.push(data)
      options.onStdout?.(data)
    } else if (type === 'stderr') {
      stderr.push(data)
      options.onStderr?.(data)
    } else if (type === 'error') throw fail('operation_failed', { reason: data })
    else if (type === 'result') {
      const { exitCode, status } = JSON.parse(data) as Pick<ExecResult, 'exitCode' | 'status'>
      return { exitCode, status, stdout: stdout.join(''), stderr: stderr.join('') }
    }
  }
  throw fail('unavailable', { what: 'the sandbox went away while the command ran', next: 'look whether it finished' })
}

/** Runs one command to its end. Throws `invalid_argument` for a request the daemon refuses, `unavailable` when it is cut off. */
export const exec = async (
  owner: Owner,
  options: ExecOptions,
  deps: { call: DaemonCall; ids: Ids },
): Promise<ExecResult> => {
  const { call, ids } = deps
  const { command, workingDir, env, timeoutSeconds, signal } = options
  signal?.throwIfAborted()
  const name = `exec-${ids.short(12)}`
  const body = {
    name,
    command,
    ...(workingDir === undefined ? {} : { workingDir }),
    ...(env === undefined ? {} : { env }),
    // A time limit is kept by the daemon for processes that keep the sandbox awake; 0 is none.
    keepAlive: true,
    timeout: timeoutSeconds ?? 0,
  }
  const subject = { kind: 'process', name }
  const kill = () => call(owner, { subject, method: 'DELETE', path: `/process/${name}/kill` }, readText)
  try {
    return await call(
      owner,
      {
        subject,
        method: 'POST',
        path: '/process',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify(body),
        ...(signal ? { signal } : {}),
      },
      answer => collect(answer, options),
    )
  } catch (error) {
    // Leaving only detaches: the command has to be told. One that has not started or has ended cannot be killed.
    if (signal?.aborted) await kill().catch(() => undefined)
    throw error
  }
}
