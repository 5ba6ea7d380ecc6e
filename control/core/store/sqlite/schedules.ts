/** Runs of scheduled commands as rows; `seq` is their order. */
import { sql } from 'kysely'
import type { ScheduleRun, ScheduleRunQuery, ScheduleRunResult, Schedules } from '../store.ts'
import { query, type Prepare } from './prepared.ts'
import type { ScheduleRunRow } from './tables.ts'
import type { Transact } from './transact.ts'

const toRun = (row: ScheduleRunRow): ScheduleRun => ({
  id: row.id,
  owner: row.owner,
  workspace: row.workspace,
  sandbox: row.sandbox,
  schedule: row.entry,
  status: row.status as ScheduleRun['status'],
  statusCode: row.status_code,
  processName: row.process_name,
  timeoutS: row.timeout_s,
  error: row.error,
  catchUp: row.catch_up === 1,
  dueAt: row.due_at,
  createdAt: row.created_at,
})

const all = query.selectFrom('schedule_runs').selectAll()

interface Filter {
  readonly workspace: string
  readonly owner: string
  readonly status: string
  readonly since: number
  readonly until: number
  readonly q: string
  readonly after: number
  readonly limit: number
}

/** An empty text matches everything. */
const filtered = (given: Filter) =>
  all
    .where('workspace', '=', given.workspace)
    .where(sql<boolean>`(${given.owner} = '' OR owner = ${given.owner})`)
    .where(sql<boolean>`(${given.status} = '' OR status = ${given.status})`)
    .where('created_at', '>=', given.since)
    .where('created_at', '<=', given.until)
    .where(
      sql<boolean>`(${given.q} = '' OR instr(lower(sandbox || char(10) || entry || char(10) || process_name || char(10) || error), ${given.q}) > 0)`,
    )
    .limit(given.limit)

const reading = (prepare: Prepare) => ({
  newest: prepare((given: Filter) => filtered(given).where('seq', '<', given.after).orderBy('seq', 'desc')),
  oldest: prepare((given: Filter) => filtered(given).where('seq', '>', given.after).orderBy('seq', 'asc')),
  unfinished: prepare(() => all.where('status', '=', 'submitting').orderBy('seq')),
  tally: prepare((given: { workspace: string; since: number; until: number }) =>
    query
      .selectFrom('schedule_runs')
      .where('workspace', '=', given.workspace)
      .where('created_at', '>=', given.since)
      .where('created_at', '<=', given.until)
      .groupBy('status')
      .select(['status', ({ fn }) => fn.countAll<number>().as('count')]),
  ),
  count: prepare((given: { workspace: string; owner: string }) =>
    query
      .selectFrom('schedule_runs')
      .where('workspace', '=', given.workspace)
      .where(sql<boolean>`(${given.owner} = '' OR owner = ${given.owner})`)
      .select(({ fn }) => fn.countAll<number>().as('count')),
  ),
})

const statements = (prepare: Prepare) => ({
  ...reading(prepare),
  add: prepare((given: ScheduleRunRow) =>
    query.insertInto('schedule_runs').values({
      id: given.id,
      owner: given.owner,
      workspace: given.workspace,
      sandbox: given.sandbox,
      entry: given.entry,
      status: given.status,
      status_code: given.status_code,
      process_name: given.process_name,
      timeout_s: given.timeout_s,
      error: given.error,
      catch_up: given.catch_up,
      due_at: given.due_at,
      created_at: given.created_at,
    }),
  ),
  end: prepare((given: { id: string; status: string; statusCode: number; processName: string; error: string }) =>
    query
      .updateTable('schedule_runs')
      .set({
        status: given.status,
        status_code: given.statusCode,
        process_name: given.processName,
        error: given.error,
      })
      .where('id', '=', given.id),
  ),
  trim: prepare((given: { owner: string; entry: string; keep: number }) =>
    query
      .deleteFrom('schedule_runs')
      .where('owner', '=', given.owner)
      .where('entry', '=', given.entry)
      .where('seq', 'not in', by =>
        by
          .selectFrom('schedule_runs')
          .where('owner', '=', given.owner)
          .where('entry', '=', given.entry)
          .orderBy('seq', 'desc')
          .limit(given.keep)
          .select('seq'),
      ),
  ),
  trimOwner: prepare((given: { owner: string; keep: number }) =>
    query
      .deleteFrom('schedule_runs')
      .where('owner', '=', given.owner)
      .where('seq', 'not in', by =>
        by
          .selectFrom('schedule_runs')
          .where('owner', '=', given.owner)
          .orderBy('seq', 'desc')
          .limit(given.keep)
          .select('seq'),
      ),
  ),
  forget: prepare((given: { owner: string }) => query.deleteFrom('schedule_runs').where('owner', '=', given.owner)),
})

/** Runs of all schedules of one record that are kept: one-time schedules leave a run each and are gone. */
const mostOfOwner = 10_000

/** Writes runs; must be used inside a transaction. */
export const scheduleWriting = (prepare: Prepare) => {
  const run = statements(prepare)
  return {
    run,
    add(one: ScheduleRun, keep: number): void {
      const { schedule, statusCode, processName, timeoutS, catchUp, dueAt, createdAt, ...rest } = one
      run.add.run({
        ...rest,
        entry: schedule,
        status_code: statusCode,
        process_name: processName,
        timeout_s: timeoutS,
        catch_up: catchUp ? 1 : 0,
        due_at: dueAt,
        created_at: createdAt,
      })
      run.trim.run({ owner: one.owner, entry: one.schedule, keep })
      run.trimOwner.run({ owner: one.owner, keep: mostOfOwner })
    },
    /** Nothing happens when the run was trimmed or its record is gone. */
    end(id: string, result: ScheduleRunResult): void {
      run.end.run({ id, ...result })
    },
    forget(owner: string): void {
      run.forget.run({ owner })
    },
  }
}

export type ScheduleWriting = ReturnType<typeof scheduleWriting>

export const sqliteSchedules = ({ run }: ScheduleWriting, { look }: Transact): Schedules => ({
  runs: ({ workspace, owner, status, since, until, q, order, limit, after }: ScheduleRunQuery) =>
    look(() => {
      const given = {
        workspace,
        owner: owner ?? '',
        status: status ?? '',
        since: since ?? 0,
        until: until ?? Number.MAX_SAFE_INTEGER,
        q: q ?? '',
        limit: limit + 1,
      }
      const rows =
        order === 'desc'
          ? run.newest.all({ ...given, after: after ?? Number.MAX_SAFE_INTEGER })
          : run.oldest.all({ ...given, after: after ?? 0 })
      const page = rows.slice(0, limit)
      return { runs: page.map(toRun), next: rows.length > limit ? page.at(-1)?.seq : undefined }
    }),
  unfinished: () => look(() => run.unfinished.all({}).map(toRun)),
  tally: (workspace, since, until) =>
    look(() => {
      const found = new Map(run.tally.all({ workspace, since, until }).map(({ status, count }) => [status, count]))
      const of = (status: ScheduleRun['status']) => found.get(status) ?? 0
      return { succeeded: of('succeeded'), failed: of('failed'), submitting: of('submitting') }
    }),
  count: (workspace, owner = '') => look(() => run.count.get({ workspace, owner })?.count ?? 0),
})
