/** The process family of the per-sandbox API: start, watch, feed and stop commands inside a sandbox. */
import { route } from '../route.ts'
import { described, intText, s, text } from '../schema.ts'
import { environmentBytes, variablesWithin } from '../variables.ts'

export const processStatuses = ['running', 'completed', 'failed', 'stopped', 'killed'] as const
export type ProcessStatus = (typeof processStatuses)[number]

/**
 * Why a process ended. `exited`: by its exit code; `signal`: by a signal that was not sent through this API; `out_of_memory`:
 * killed by the kernel; `timeout`: killed at its time limit; `stopped`, `killed`: asked through this API; `not_started`: its
 * restart failed; `unknown`: it ended while no daemon watched it.
 */
export const endReasons = [
  'exited',
  'signal',
  'out_of_memory',
  'timeout',
  'stopped',
  'killed',
  'not_started',
  'unknown',
] as const
export type EndReason = (typeof endReasons)[number]

/**
 * A process as clients see it. `pid` is the OS pid of the first start, in decimal, and stays over restarts; times read
 * `Wed, 04 Mar 2026 10:11:12 GMT`; `exitCode` is 0 while running and -1 after a signal; `logs` is stdout followed by stderr.
 */
export const Process = described(
  s.object({
    pid: s.string(),
    name: s.string(),
    command: s.string(),
    status: s.enum(processStatuses),
    startedAt: s.string(),
    completedAt: s.nullable(s.string()),
    exitCode: s.int(),
    workingDir: s.string(),
    logs: s.nullable(s.string()),
    stdout: s.string(),
    stderr: s.string(),
    restartOnFailure: s.boolean(),
    maxRestarts: s.int(),
    restartCount: s.int(),
    keepAlive: s.boolean(),
    /** Present, and true, only for a process whose input can be written. */
    stdin: s.optional(s.boolean()),
    /** Why it ended, once it has. */
    reason: s.optional(s.enum(endReasons)),
    /** The signal that ended it: `SIGKILL`, `SIGSEGV`. */
    signal: s.optional(s.string()),
    /** The limit that ended it: its seconds with `timeout`, the bytes of the sandbox's memory with `out_of_memory`. */
    limit: s.optional(s.object({ seconds: s.optional(s.number()), memoryBytes: s.optional(s.int()) })),
    /** The largest resident size of one process of its tree, where that is more than the daemon's own. */
    peakMemoryBytes: s.optional(s.int()),
    /** Only in the answer 422: why the wait for the process ended before the process. */
    error: s.optional(s.string()),
    /** Present, and true, only when the disk was full while the process ran: output may be missing. */
    outputIncomplete: s.optional(s.boolean()),
    /** Present where the files were saved before it was started: what they were saved as. */
    checkpoint: s.optional(s.string()),
  }),
  { title: 'Process' },
)
export type Process = s.output<typeof Process>

/** null counts as absent, as clients in languages without "undefined" send it. */
const maybe = <S extends s.ZodMiniType>(shape: S) => s.nullish(shape)
const port = s.int().check(s.minimum(1), s.maximum(65_535))
/** Variables of a process, added to the sandbox's own. */
export const Variables = variablesWithin(environmentBytes.process)

export const StartProcess = described(
  s.object({
    command: text(1024 * 1024).check(s.minLength(1, 'is required')),
    name: maybe(text(255)),
    workingDir: maybe(text(4096)),
    env: maybe(Variables),
    waitForCompletion: maybe(s.boolean()),
    /** Seconds. */
    timeout: maybe(s.int()),
    waitForPorts: maybe(s.array(port).check(s.maxLength(1_024))),
    restartOnFailure: maybe(s.boolean()),
    maxRestarts: maybe(s.int()),
    keepAlive: maybe(s.boolean()),
    /** Gives the process a pipe as standard input, to be fed through `POST /process/:identifier/stdin`. */
    stdin: maybe(s.boolean()),
    /** The host saves the files of the sandbox before it is started. A daemon that is asked directly has nothing to save them with. */
    checkpoint: maybe(s.boolean()),
  }),
  { title: 'StartProcess' },
)
export type StartProcess = s.output<typeof StartProcess>

/**
 * A line of the event stream. `stdout`, `stderr`: `data` is what was written, `cursor` the byte offset after it;
 * `keepalive`: nothing; `error`: `data` says why there is no more, and `process` is the process as it is, if there is one;
 * `result`, the last: `data` is the process as JSON.
 */
const ProcessEvent = described(
  s.object({
    type: s.string(),
    data: s.optional(s.string()),
    cursor: s.optional(s.number()),
    process: s.optional(Process),
  }),
  { title: 'ProcessEvent' },
)
export type ProcessEvent = s.output<typeof ProcessEvent>

const ProcessLogs = described(s.object({ stdout: s.string(), stderr: s.string(), logs: s.string() }), {
  title: 'ProcessLogs',
})
const ProcessMessage = described(s.object({ message: s.string() }), { title: 'ProcessMessage' })
const params = s.object({ identifier: s.string() })

export const listProcesses = route('GET /process', {
  id: 'process.list',
  summary: 'List processes, finished ones included, each with the last 64 KiB of its output',
  returns: s.array(Process),
})

export const startProcess = route('POST /process', {
  id: 'process.start',
  summary: 'Start a command; answers at once, when it ends, when its ports listen, or as a stream of events',
  // Not to routes that need the process to be running still.
  leadsTo: {
    'process.get': { identifier: 'name' },
    'process.logs': { identifier: 'pid' },
    'network.ports': { pid: 'pid' },
  },
  body: StartProcess,
  returns: Process,
  events: ProcessEvent,
  produces: ['application/x-ndjson'],
  statuses: {
    422: 'It was not started, or the wait is over and the process goes on: then this is the process, with its output so far',
  },
  errors: ['invalid_argument', 'unprocessable'],
})

export const getProcess = route('GET /process/:identifier', {
  id: 'process.get',
  summary: 'Read a process by pid or name',
  params,
  returns: Process,
  errors: ['not_found'],
})

export const stopProcess = route('DELETE /process/:identifier', {
  id: 'process.stop',
  summary: 'Ask a process and its children to end (SIGTERM)',
  params,
  returns: ProcessMessage,
  errors: ['not_found'],
})

export const killProcess = route('DELETE /process/:identifier/kill', {
  id: 'process.kill',
  summary: 'End a process and its children at once (SIGKILL)',
  params,
  returns: ProcessMessage,
  errors: ['not_found'],
})

export const processLogs = route('GET /process/:identifier/logs', {
  id: 'process.logs',
  summary: 'Read what a process has written, at most the last 4 MiB of each stream',
  params,
  returns: ProcessLogs,
  errors: ['not_found'],
})

const logStreams = ['combined', 'stdout', 'stderr', 'events'] as const

/**
 * `combined`: prefixed lines; `stdout`, `stderr`: raw bytes; `events`: what `POST /process` streams. Every one starts at
 * the absolute byte offset `cursor` (or header `X-Svc-Cursor`); the answer says in `X-Svc-Cursor` where it starts.
 */
export const streamProcessLogs = route('GET /process/:identifier/logs/stream', {
  id: 'process.logs.stream',
  summary: 'Follow the output of a process from its beginning or from a byte offset',
  params,
  query: s.object({ cursor: intText(0), stream: s.optional(s.enum(logStreams)) }),
  events: ProcessEvent,
  produces: ['text/plain', 'application/octet-stream', 'application/x-ndjson'],
  errors: ['not_found', 'invalid_argument'],
})

export const writeStdin = route('POST /process/:identifier/stdin', {
  id: 'process.stdin.write',
  summary: 'Write the body, byte for byte, to the standard input of a process started with stdin',
  params,
  accepts: 'stream',
  returns: ProcessMessage,
  errors: ['not_found', 'wrong_state'],
})

export const closeStdin = route('DELETE /process/:identifier/stdin', {
  id: 'process.stdin.close',
  summary: 'Close the standard input of a process: it reads end of file. Closing it again is fine',
  params,
  returns: ProcessMessage,
  errors: ['not_found', 'wrong_state'],
})
