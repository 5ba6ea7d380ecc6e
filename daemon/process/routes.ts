import { audit } from '../audit.ts'
import { errno, fail, isError, messageOf } from '../../shared/errors.ts'
import type { Clock } from '../../shared/clock.ts'
import { handle, json, reply, type Bound, type Context, type Reply } from '../../shared/route.ts'
import type { WireNames } from '../../shared/wire-names.ts'
import {
  closeStdin,
  getProcess,
  killProcess,
  listProcesses,
  processLogs,
  startProcess,
  stopProcess,
  streamProcessLogs,
  writeStdin,
  type StartProcess,
} from '../../shared/wire/process.ts'
import { errorStream, eventStart, eventStream } from './event-stream.ts'
import type { Heartbeat } from './heartbeat.ts'
import { combinedStream, rawStream } from './log-stream.ts'
import type { Managed } from './managed.ts'
import { startOf } from './output/follow.ts'
import type { ProcessConfig } from './context.ts'
import { bothTails, present, presentAll } from './present.ts'
import type { ProcessRecord } from './record.ts'
import type { Stdin } from './stdin.ts'
import type { Supervisor } from './supervisor.ts'
import { waitBound, waitForEnd, waitForPorts } from './waits.ts'

interface RouteDeps {
  readonly supervisor: Supervisor
  readonly config: Pick<ProcessConfig, 'responseBytes' | 'tailBytes' | 'maxFileBytes'>
  readonly clock: Clock
  readonly heartbeat: Heartbeat
  readonly names: WireNames
  readonly portsReady: (pid: number, ports: readonly number[]) => Promise<boolean>
}

/** Where files are not capped, a stream without a cursor begins at most so many bytes back. */
const backlogBytes = 32 * 1024 * 1024

const streamHeaders = (type: string) => ({
  'content-type': type,
  'cache-control': 'no-cache',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
})

const cursorHeader = (names: WireNames, at: number): Record<string, string> =>
  Object.fromEntries(names.header('cursor').map(name => [name, String(at)]))

/** The offset in the query, or else in the header. */
const cursorOf = ({ request }: Context, names: WireNames, query: number | undefined): number | undefined => {
  if (query !== undefined) return query
  const value = names
    .header('cursor')
    .map(name => request.headers[name])
    .find(given => given !== undefined)
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value))
    throw fail('invalid_argument', { field: 'X-Svc-Cursor', reason: 'must be a byte offset' })
  return Number(value)
}

const wantsEvents = ({ request }: Context): boolean =>
  /text\/event-stream/i.test(String(request.headers['accept'] ?? ''))

const eventsReply = (deps: RouteDeps, managed: Managed, cursor: number | undefined, boundMs?: number): Reply => {
  const start = eventStart(managed.capture, cursor)
  const { clock, heartbeat, config } = deps
  return reply(
    200,
    { ...streamHeaders('application/x-ndjson'), ...cursorHeader(deps.names, start.at) },
    eventStream(managed, start, { clock, heartbeat, tailBytes: config.tailBytes, boundMs }),
  )
}

/** Starts a process and writes the audit line, even when it cannot be started. */
const startAudited = (
  deps: RouteDeps,
  event: 'process_exec' | 'process_exec_stream',
  body: StartProcess,
  context: Context,
): Managed => {
  try {
    return deps.supervisor.start(body)
  } finally {
    audit(context, event, { command: body.command, workingDir: body.workingDir })
  }
}

/** Milliseconds that are left of how long the caller waits, from now on. */
const countDown = ({ clock }: RouteDeps, body: StartProcess): (() => number | undefined) => {
  const bound = waitBound(body)
  const started = clock.elapsed()
  return () => (bound === undefined ? undefined : bound - (clock.elapsed() - started))
}

const startStreaming = async (deps: RouteDeps, body: StartProcess, context: Context): Promise<Reply> => {
  let managed: Managed | undefined
  try {
    managed = startAudited(deps, 'process_exec_stream', body, context)
    const left = countDown(deps, body)
    if (body.waitForPorts?.length) await waitForPorts(deps, managed, body.waitForPorts, left(), context.signal)
    return eventsReply(deps, managed, 0, left())
  } catch (error) {
    // A wrong request is an ordinary 400; a failed start is reported in the stream.
    if (!isError(error, 'unprocessable')) throw error
    const known = managed && present(managed, { bytes: deps.config.tailBytes })
    return reply(200, streamHeaders('application/x-ndjson'), errorStream(error.message, known))
  }
}

/** Waits for what the request asked for: first the ports, then the end. */
const startPlain = async (deps: RouteDeps, body: StartProcess, context: Context) => {
  const managed = startAudited(deps, 'process_exec', body, context)
  const left = countDown(deps, body)
  const whole = { bytes: deps.config.responseBytes }
  try {
    if (body.waitForPorts?.length) await waitForPorts(deps, managed, body.waitForPorts, left(), context.signal)
    if (body.waitForCompletion) await waitForEnd(deps.clock, managed, left(), context.signal)
  } catch (error) {
    if (!isError(error, 'unprocessable')) throw error
    // The process was started: without its name nobody could find it again.
    return json({ ...present(managed, whole), error: messageOf(error) }, { status: error.status })
  }
  return present(managed, body.waitForCompletion ? whole : 'none')
}

const closedStdin = ({ name }: ProcessRecord, state: string, cause?: unknown) =>
  fail('wrong_state', { kind: 'stdin of process', name, state, wanted: 'writing' }, cause)

/** The input of a process that was started with one; undefined once it is closed. */
const inputOf = ({ record, stdin }: Managed): Stdin | undefined => {
  if (!record.stdin) throw closedStdin(record, 'not there, start the process with "stdin": true')
  return record.status === 'running' && stdin?.open ? stdin : undefined
}

const feed = async (managed: Managed, { request, signal }: Context): Promise<void> => {
  const stdin = inputOf(managed)
  const { record } = managed
  // It runs and nobody has closed its input: the pipe was lost with a daemon that was killed.
  const lost = record.status === 'running' && record.current !== undefined && managed.stdin === undefined
  if (!stdin) throw closedStdin(record, lost ? 'closed since its daemon was killed' : 'closed')
  try {
    await stdin.write(request.body, signal)
  } catch (error) {
    throw errno(error) === 'EPIPE' ? closedStdin(managed.record, 'closed by the process', error) : error
  }
}

const streamLogs = (
  deps: RouteDeps,
  managed: Managed,
  query: { cursor: number | undefined; stream?: 'combined' | 'stdout' | 'stderr' | 'events' | undefined },
  context: Context,
): Reply => {
  const cursor = cursorOf(context, deps.names, query.cursor)
  const { stream = wantsEvents(context) ? 'events' : 'combined' } = query
  if (stream === 'events') return eventsReply(deps, managed, cursor)
  const part = stream === 'combined' ? 2 : stream === 'stdout' ? 0 : 1
  const start = startOf(managed.capture, part, cursor, Math.max(backlogBytes, deps.config.maxFileBytes))
  const headers = cursorHeader(deps.names, start.at)
  if (part === 2)
    return reply(
      200,
      { ...streamHeaders('text/plain; charset=utf-8'), ...headers },
      combinedStream(managed, start, deps.heartbeat),
    )
  return reply(200, { ...streamHeaders('application/octet-stream'), ...headers }, rawStream(managed, part, start))
}

/** Binds the process routes. */
export const processRoutes = (deps: RouteDeps): Bound[] => {
  const { supervisor, config } = deps
  const { tailBytes, responseBytes } = config
  return [
    handle(listProcesses, () => presentAll(supervisor.list(), tailBytes, null)),
    handle(startProcess, ({ body }, context) =>
      wantsEvents(context) ? startStreaming(deps, body, context) : startPlain(deps, body, context),
    ),
    handle(getProcess, ({ params }) => present(supervisor.find(params.identifier), { bytes: tailBytes })),
    handle(stopProcess, async ({ params }, context) => {
      audit(context, 'process_stop', { process: params.identifier })
      await supervisor.end(params.identifier, 'stopped')
      return { message: 'Process stopped successfully' }
    }),
    handle(killProcess, async ({ params }, context) => {
      audit(context, 'process_kill', { process: params.identifier })
      await supervisor.end(params.identifier, 'killed')
      return { message: 'Process killed successfully' }
    }),
    handle(processLogs, ({ params }, context) => {
      audit(context, 'process_logs_access', { process: params.identifier })
      const [stdout, stderr] = bothTails(supervisor.find(params.identifier), responseBytes)
      return { stdout, stderr, logs: stdout + stderr }
    }),
    handle(streamProcessLogs, ({ params, query }, context) => {
      audit(context, 'process_logs_stream', { process: params.identifier })
      return streamLogs(deps, supervisor.find(params.identifier), query, context)
    }),
    handle(writeStdin, async ({ params }, context) => {
      await feed(supervisor.find(params.identifier), context)
      return { message: 'Written to stdin' }
    }),
    handle(closeStdin, ({ params }) => {
      inputOf(supervisor.find(params.identifier))?.end()
      return { message: 'Stdin closed' }
    }),
  ]
}
