/** Processes as tools. */
import { isError } from '../../../shared/errors.ts'
import { s } from '../../../shared/schema.ts'
import { Process, StartProcess, Variables } from '../../../shared/wire/process.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Context } from '../../../shared/route.ts'
import type { Managed } from '../../process/managed.ts'
import { present, presentAll } from '../../process/present.ts'
import type { Supervisor } from '../../process/supervisor.ts'
import { waitForEnd, waitForPorts } from '../../process/waits.ts'
import { audit } from '../../audit.ts'
import { tool, type Tool } from '../tool.ts'

export interface ProcessToolDeps {
  readonly supervisor: Supervisor
  readonly clock: Clock
  readonly portsReady: (pid: number, ports: readonly number[]) => Promise<boolean>
  /** Bytes of each stream in an answer. */
  readonly tailBytes: number
}

const none = s.strictObject({})
const byIdentifier = s.strictObject({ identifier: s.string() })
// A checkpoint is cut by the host, which these calls do not pass.
const { stdin: _stdin, checkpoint: _checkpoint, ...startFields } = StartProcess.shape
/** As in the HTTP route, except that `env` is never null. */
const executeShape = s.strictObject({ ...startFields, env: s.optional(Variables) })
const executeOutput = s.object({
  pid: s.string(),
  name: s.string(),
  status: s.string(),
  exitCode: s.int(),
  logs: s.optional(s.string()),
  message: s.optional(s.string()),
  pollRequired: s.optional(s.boolean()),
})
const defaultTimeoutS = 30
/** With keepAlive the timeout is the process's own limit. */
const defaultKeepAliveS = 600
/** Clients give up on a call after a minute. */
const maxWaitS = 58

type Execute = s.output<typeof executeShape>
type Executed = s.output<typeof executeOutput>

/** The seconds that the call may wait, and whether that is less than requested. */
const waitOf = ({ timeout, keepAlive, waitForCompletion }: Execute): { seconds: number; capped: boolean } => {
  const asked = timeout ?? (keepAlive ? defaultKeepAliveS : defaultTimeoutS)
  const unbounded = asked <= 0
  if (waitForCompletion && (unbounded || asked > maxWaitS)) return { seconds: maxWaitS, capped: true }
  return { seconds: unbounded ? maxWaitS : asked, capped: unbounded }
}

/** Waits as requested; false when the call had to stop waiting earlier and the process still runs. */
const wait = async (deps: ProcessToolDeps, managed: Managed, body: Execute, signal: AbortSignal): Promise<boolean> => {
  const { clock } = deps
  const { seconds, capped } = waitOf(body)
  const started = clock.elapsed()
  const leftMs = () => seconds * 1000 - (clock.elapsed() - started)
  try {
    if (body.waitForPorts?.length) await waitForPorts(deps, managed, body.waitForPorts, leftMs(), signal)
    if (body.waitForCompletion) await waitForEnd(clock, managed, leftMs(), signal)
    return true
  } catch (error) {
    if (capped && isError(error, 'unprocessable') && managed.record.status === 'running') return false
    throw error
  }
}

const stillRuns = (name: string) => ({
  pollRequired: true,
  message: `The command still runs after ${maxWaitS} seconds. Poll processGet with identifier "${name}" until its status is not "running".`,
})

const execute = async (deps: ProcessToolDeps, body: Execute, context: Context): Promise<Executed> => {
  const { supervisor, tailBytes } = deps
  const workingDir = body.workingDir ?? '/'
  audit(context, 'process_exec', { command: body.command, workingDir })
  // With keepAlive the supervisor has a default for a missing timeout.
  const timeout = body.timeout ?? (body.keepAlive ? null : defaultTimeoutS)
  const managed = supervisor.start({ ...body, workingDir, timeout }, { sharedName: true })
  const finished = await wait(deps, managed, body, context.signal)
  const inline = body.waitForCompletion ? { bytes: tailBytes } : 'none'
  const { pid, name, status, exitCode, logs } = present(managed, inline)
  return { pid, name, status, exitCode, ...(logs ? { logs } : {}), ...(finished ? {} : stillRuns(name)) }
}

const shown = ({ tailBytes }: ProcessToolDeps, managed: Managed) => present(managed, { bytes: tailBytes })

const listTool = ({ supervisor, tailBytes }: ProcessToolDeps): Tool =>
  tool({
    name: 'processesList',
    readOnly: true,
    description: 'List the processes of the sandbox, finished ones included, with the last of their output.',
    input: none,
    output: s.object({ processes: s.array(Process) }),
    run: async () => ({ processes: await presentAll(supervisor.list(), tailBytes, null) }),
  })

const executeTool = (deps: ProcessToolDeps): Tool =>
  tool({
    name: 'processExecute',
    description:
      'Run a shell command. Answers at once with its pid and name, or waits for its end with waitForCompletion: at most 58 seconds, then pollRequired says to poll processGet.',
    about: {
      command: 'A command line for sh',
      name: 'What to find it by later; made up unless given',
      workingDir: 'Where it runs; / unless given',
      env: 'Variables added to those of the sandbox',
      timeout: 'Seconds to wait, 30 unless given; with keepAlive those after which it is ended, 600 unless given',
      waitForPorts: 'Answer when it listens on all of these ports',
      restartOnFailure: 'Start it again when it ends with another code than 0',
      maxRestarts: 'How many times; -1 is without end',
      keepAlive: 'Keep the sandbox awake while it runs',
    },
    input: executeShape,
    output: executeOutput,
    run: (body, context) => execute(deps, body, context),
  })

const getTool = (deps: ProcessToolDeps): Tool =>
  tool({
    name: 'processGet',
    readOnly: true,
    description: 'Read one process by pid or name: status, exit code, the last of its output.',
    about: { identifier: 'Its pid or name' },
    input: byIdentifier,
    output: Process,
    run: input => shown(deps, deps.supervisor.find(input.identifier)),
  })

const logsTool = (deps: ProcessToolDeps): Tool =>
  tool({
    name: 'processGetLogs',
    readOnly: true,
    description: 'Read what a process has written, standard output first.',
    about: { identifier: 'Its pid or name' },
    input: byIdentifier,
    output: s.object({ logs: s.string() }),
    run({ identifier }, context) {
      audit(context, 'process_logs_access', { process: identifier })
      return { logs: shown(deps, deps.supervisor.find(identifier)).logs ?? '' }
    },
  })

const stopTool = ({ supervisor }: ProcessToolDeps): Tool =>
  tool({
    name: 'processStop',
    description: 'Ask a process and its children to end (SIGTERM).',
    about: { identifier: 'Its pid or name' },
    input: byIdentifier,
    output: s.object({ status: s.literal('stopped') }),
    async run({ identifier }, context) {
      audit(context, 'process_stop', { process: identifier })
      await supervisor.end(identifier, 'stopped')
      return { status: 'stopped' as const }
    },
  })

const killTool = ({ supervisor }: ProcessToolDeps): Tool =>
  tool({
    name: 'processKill',
    description: 'End a process and its children at once (SIGKILL).',
    about: { identifier: 'Its pid or name' },
    input: byIdentifier,
    output: s.object({ status: s.literal('killed') }),
    async run({ identifier }, context) {
      audit(context, 'process_kill', { process: identifier })
      await supervisor.end(identifier, 'killed')
      return { status: 'killed' as const }
    },
  })

export const processTools = (deps: ProcessToolDeps): Tool[] => [
  listTool(deps),
  executeTool(deps),
  getTool(deps),
  logsTool(deps),
  stopTool(deps),
  killTool(deps),
]
