/** Fires of sandboxes' schedules: each submits its command to the sandbox's daemon, waking it, and does not wait for its end. */
import { isError, messageOf } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import { startProcess } from '../../../shared/wire/process.ts'
import { daemonAt } from '../channel/client.ts'
import type { Connections } from '../channel/connections.ts'
import { nextFire, scheduleKind, storedSchedule, type StoredSchedule } from '../kinds/schedule.ts'
import type { Reach } from '../machines/reach.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { Resource, ScheduleRun, ScheduleRunResult, Store } from '../store/store.ts'
import type { Move, Transition } from '../transitions/transition.ts'
import type { Fire, Source } from './scheduler.ts'

interface Deps {
  readonly store: Store
  readonly ids: Ids
  readonly sealer: Sealer
  readonly connections: Connections
  readonly hold: () => Reach['hold']
  readonly transition: () => Pick<Transition, 'write'>
}

/** An answer is one process, which has written nothing yet. */
const bounds = { timeoutMs: 30_000, maxBytes: 1024 * 1024 }
const longestError = 1_000

const submit = async (
  { sealer, connections, hold }: Deps,
  owner: Resource,
  { command, name, workingDir, env = {}, keepAlive, timeout }: StoredSchedule['input'],
  signal: AbortSignal,
): Promise<string> => {
  const { upstream, release } = await hold()(owner, signal)
  try {
    const opened = Object.fromEntries(Object.entries(env).map(([key, sealed]) => [key, sealer.open(sealed)]))
    const body = {
      command,
      ...(name ? { name } : {}),
      ...(workingDir ? { workingDir } : {}),
      env: opened,
      keepAlive,
      timeout,
      waitForCompletion: false,
    }
    const started = await daemonAt(connections, upstream, 'client', bounds).ask(startProcess, { body })
    return String(started.name).slice(0, 256)
  } finally {
    release()
  }
}

const accepted = (processName: string): ScheduleRunResult => ({
  status: 'succeeded',
  statusCode: 200,
  processName,
  error: '',
})

const refused = (error: unknown): ScheduleRunResult => ({
  status: 'failed',
  statusCode: isError(error) && !isError(error, 'not_running') && !isError(error, 'timed_out') ? error.status : 0,
  processName: '',
  error: messageOf(error).slice(0, longestError),
})

/** What remains of a fire: a cron schedule with the time behind it, and nothing of one that fires once. */
const spent = ({ record, now }: Fire): Move =>
  record.status === 'at' ? { remove: record } : { record, change: { internal: { ...record.internal, firedTo: now } } }

export const sandboxSchedules = (deps: Deps): Source => {
  const { store, ids, transition } = deps
  const end = async (id: string, result: ScheduleRunResult): Promise<void> => {
    await transition().write([{ endRun: id, result }])
  }
  return {
    kind: scheduleKind.kind,
    next: nextFire,
    claim(fire) {
      const { record, due, catchUp, now } = fire
      const { input, maxExecutions, owner: ownerUid } = storedSchedule(record)
      const id = ids.uuid()
      const run: ScheduleRun = {
        id,
        owner: ownerUid,
        workspace: record.workspace,
        sandbox: record.parent,
        schedule: record.name,
        status: 'submitting',
        statusCode: 0,
        processName: '',
        timeoutS: input.timeout,
        error: '',
        catchUp,
        dueAt: due,
        createdAt: now,
      }
      return {
        moves: [spent(fire), { scheduleRun: run, keep: maxExecutions }],
        async run(signal) {
          const owner = await store.resources.getByUid(ownerUid)
          if (!owner) return
          const result = await submit(deps, owner, input, signal).then(accepted, refused)
          // A submission that the end of this server has cut off is settled at its next start.
          if (result.status === 'succeeded' || !signal.aborted) await end(id, result)
        },
      }
    },
  }
}

/** Runs that a server had not finished submitting when it ended: whether their command was started is not known. */
export const settleRuns = async (store: Store, transition: Pick<Transition, 'write'>): Promise<void> => {
  const error = 'the server ended while the command was submitted; whether it was started is not known'
  const moves = (await store.schedules.unfinished()).map(
    ({ id }): Move => ({
      endRun: id,
      result: { status: 'failed', statusCode: 0, processName: '', error },
    }),
  )
  if (moves.length > 0) await transition.write(moves)
}
