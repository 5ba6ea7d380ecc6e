/** Runs a command in a sandbox and brings back all it wrote, however long. */
import { fail, isError } from '../../shared/errors.ts'
import { checked } from '../../shared/http/client/answer.ts'
import type { Ids } from '../../shared/ids.ts'
import { s } from '../../shared/schema.ts'
import type { Client } from '../../shared/http/client/index.ts'
import {
  closeStdin,
  killProcess,
  startProcess,
  streamProcessLogs,
  writeStdin,
  type ProcessEvent,
  type StartProcess,
} from '../../shared/wire/process.ts'
import type { Owner } from '../core/store/store.ts'
import { checkMembers } from './check-options.ts'
import type { DaemonCall } from './daemon.ts'

export interface ExecOptions {
  /** Run by a shell; a list is one program with its arguments, which no shell changes. */
  readonly command: string | readonly string[]
  /** What it reads as its input; it has none unless given. */
  readonly stdin?: string | Uint8Array
  /** Default: the working directory of the sandbox. */
  readonly workingDir?: string
  readonly env?: Readonly<Record<string, string>>
  /** The command is killed after so many seconds; absent means never. */
  readonly timeoutSeconds?: number
  /** Most characters of each stream; a command that writes more is killed and fails. Default 256 Mi, as much as a text can hold. */
  readonly maxOutput?: number
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

/** What a stream has written, and its pieces as they come. */
const keeper = (name: string, max: number, hand: ((text: string) => void) | undefined) => {
  const pieces: string[] = []
  let size = 0
  return {
    take(text: string): void {
      size += text.length
      if (size > max)
        throw fail('unprocessable', { reason: `the command wrote more than ${max} characters to its ${name}` })
      pieces.push(text)
      hand?.(text)
    },
    whole: () => pieces.join(''),
  }
}

const ending = s.object({ exitCode: s.int(), status: s.enum(['completed', 'failed', 'killed', 'stopped']) })

const collect = async (events: AsyncIterable<ProcessEvent>, options: ExecOptions): Promise<ExecResult> => {
  const { maxOutput = 256 * 1024 * 1024 } = options
  const stdout = keeper('output', maxOutput, options.onStdout)
  const stderr = keeper('error output', maxOutput, options.onStderr)
  for await (const { type, data = '' } of events) {
    if (type === 'stdout') stdout.take(data)
    else if (type === 'stderr') stderr.take(data)
    else if (type === 'error') throw fail('operation_failed', { reason: data })
    else if (type === 'result')
      return { ...checked(ending, data, 'the sandbox'), stdout: stdout.whole(), stderr: stderr.whole() }
  }
  throw fail('unavailable', { what: 'the sandbox went away while the command ran', next: 'look whether it finished' })
}

const memberNames: { readonly [member in keyof Required<ExecOptions>]: true } = {
  command: true,
  stdin: true,
  workingDir: true,
  env: true,
  timeoutSeconds: true,
  maxOutput: true,
  onStdout: true,
  onStderr: true,
  signal: true,
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

const lineOf = (command: ExecOptions['command']): string => {
  if (typeof command === 'string') return command
  if (command.length === 0) throw fail('invalid_argument', { field: 'command', reason: 'names no program' })
  return command.map(quoted).join(' ')
}

/** Started by one call and followed by another: in between it is given its input. */
const fed = async function* (daemon: Client, body: StartProcess & { name: string }, options: ExecOptions) {
  const params = { identifier: body.name }
  const { stdin = '', signal } = options
  await daemon.ask(startProcess, { body: { ...body, stdin: true } })
  // One that ends without reading it all is no failure: what it did is what counts.
  const lost = new AbortController()
  const feeding = daemon
    .ask(writeStdin, { params, body: stdin })
    .then(() => daemon.ask(closeStdin, { params }))
    .catch((error: unknown) => {
      if (!isError(error, 'wrong_state')) lost.abort(error)
    })
  const asked = { params, query: { stream: 'events' as const, cursor: 0 } }
  const ended = signal ? AbortSignal.any([signal, lost.signal]) : lost.signal
  yield* daemon.events(streamProcessLogs, asked, { signal: ended })
  await feeding
}

/**
 * Runs one command to its end. Throws `invalid_argument` for a request the daemon refuses, `unavailable` when it is cut off,
 * `unprocessable` when it writes too much.
 */
export const exec = async (
  owner: Owner,
  options: ExecOptions,
  deps: { call: DaemonCall; ids: Ids },
): Promise<ExecResult> => {
  const { call, ids } = deps
  checkMembers(options, Object.keys(memberNames))
  const { workingDir, env, timeoutSeconds, stdin, signal } = options
  const command = lineOf(options.command)
  signal?.throwIfAborted()
  const name = `exec-${ids.short(12)}`
  // A time limit is kept by the daemon for processes that keep the sandbox awake; 0 is none.
  const body = { name, command, workingDir, env, keepAlive: true, timeout: timeoutSeconds ?? 0 }
  const kill = () => call(owner, daemon => daemon.ask(killProcess, { params: { identifier: name } }))
  try {
    return await call(
      owner,
      daemon =>
        collect(
          stdin === undefined
            ? daemon.events(startProcess, { body }, signal ? { signal } : {})
            : fed(daemon, body, options),
          options,
        ),
      signal,
    )
  } catch (error) {
    // Leaving only detaches: the command has to be told. One that has not started or has ended cannot be killed.
    if (signal?.aborted || stdin !== undefined || isError(error, 'unprocessable')) await kill().catch(() => undefined)
    throw error
  }
}
