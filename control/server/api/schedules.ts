/** Runs of scheduled commands: of one sandbox, of a workspace, and counted. */
import { fail } from '../../../shared/errors.ts'
import { isInstant } from '../../../shared/instant.ts'
import { handle, route, type Bound, type Context } from '../../../shared/route.ts'
import { s, text, type Out } from '../../../shared/schema.ts'
import type { Cursors } from '../../base/wire/cursors.ts'
import type { Access } from '../../core/access/access.ts'
import { scheduleKind } from '../../core/kinds/schedule.ts'
import { sandboxFace } from '../../core/kinds/sandbox/kind.ts'
import type { Resource, ScheduleRun, ScheduleRunStatus, Store } from '../../core/store/store.ts'
import { listShapes, tenantQuery } from './paging.ts'
import { factsOf } from './surface.ts'

const run = s.object({
  id: s.string(),
  sandbox: s.string(),
  scheduleId: s.string(),
  status: s.enum(['submitting', 'succeeded', 'failed']),
  statusCode: s.int(),
  executedAt: s.string(),
  processName: s.string(),
  timeout: s.int(),
  error: s.string(),
  /** It makes up for times that passed while the server was down. */
  catchUp: s.optional(s.boolean()),
  createdAt: s.string(),
})

const page = s.object({
  data: s.array(run),
  meta: s.object({ hasMore: s.boolean(), nextCursor: s.string(), total: s.int() }),
})

const instant = s.optional(s.string().check(s.refine(isInstant, 'must be an ISO 8601 instant')))
const { limit, cursor, q } = listShapes
const sort = s.optional(s.enum(['createdAt:desc', 'createdAt:asc']))
const paging = { ...tenantQuery, limit, cursor, q, sort }
const reading: Access = { scope: 'sandboxes:get', role: 'member' }
const listing: Access = { scope: 'sandboxes:list', role: 'member' }
const errors = ['invalid_argument', 'unauthenticated', 'forbidden', 'not_found', 'internal'] as const

export const listSandboxRuns = route('GET /v0/sandboxes/:sandboxName/schedule-executions', {
  id: 'schedules.executions',
  summary: 'Lists the runs of all schedules of a sandbox, newest first',
  family: 'schedules',
  extra: { access: reading },
  params: s.object({ sandboxName: s.string() }),
  query: s.object(paging),
  returns: page,
  errors: [...errors],
})

export const listRuns = route('GET /v0/schedule-executions', {
  id: 'schedules.allExecutions',
  summary: 'Lists the runs of all schedules of the workspace, newest first',
  family: 'schedules',
  extra: { access: listing },
  query: s.object({
    ...paging,
    sandbox: s.optional(text(63)),
    status: s.optional(s.enum(['succeeded', 'failed', 'submitting'])),
    since: instant,
    until: instant,
  }),
  returns: page,
  errors: [...errors],
})

export const scheduleMetrics = route('GET /v0/schedules/metrics', {
  id: 'schedules.metrics',
  summary: 'Counts sandboxes with schedules, schedules and runs; of the last day unless told otherwise',
  family: 'schedules',
  extra: { access: listing },
  query: s.object({ ...tenantQuery, since: instant, until: instant }),
  returns: s.object({
    sandboxes: s.int(),
    schedules: s.int(),
    executions: s.int(),
    executionsByStatus: s.object({ succeeded: s.int(), failed: s.int() }),
    since: s.string(),
    until: s.string(),
  }),
  errors: [...errors],
})

interface Deps {
  readonly store: Store
  readonly cursors: Cursors
  readonly clock: { now(): number }
}

const iso = (at: number): string => new Date(at).toISOString()

const present = (one: ScheduleRun): Out<typeof run> => ({
  id: one.id,
  sandbox: one.sandbox,
  scheduleId: one.schedule,
  status: one.status,
  statusCode: one.statusCode,
  executedAt: iso(one.dueAt),
  processName: one.processName,
  timeout: one.timeoutS,
  error: one.error,
  ...(one.catchUp ? { catchUp: true } : {}),
  createdAt: iso(one.createdAt),
})

const timeOf = (value: string | undefined): number | undefined => (value === undefined ? undefined : Date.parse(value))

/** Throws `not_found`. */
const sandboxNamed = async ({ store }: Deps, workspace: string, name: string): Promise<Resource> => {
  const found = await store.resources.get({ kind: sandboxFace.kind, workspace, parent: '', name })
  if (!found) throw fail('not_found', { kind: sandboxFace.kind, name })
  return found
}

interface RunsAsked {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly q?: string | undefined
  readonly sort?: 'createdAt:desc' | 'createdAt:asc' | undefined
  readonly owner?: string | undefined
  readonly status?: ScheduleRunStatus | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

const runsPage = async ({ store, cursors }: Deps, workspace: string, asked: RunsAsked): Promise<Out<typeof page>> => {
  const { owner, status, q: words = '', since, until, sort: order = 'createdAt:desc' } = asked
  const needle = words.trim().toLowerCase()
  const binding = { list: 'schedule-executions', workspace, owner, status, q: needle, since, until, sort: order }
  const after = asked.cursor ? Number(cursors.read(binding, asked.cursor)) : undefined
  const { runs, next } = await store.schedules.runs({
    workspace,
    owner,
    status,
    since: timeOf(since),
    until: timeOf(until),
    ...(needle.length < 2 ? {} : { q: needle }),
    order: order === 'createdAt:desc' ? 'desc' : 'asc',
    limit: Math.min(asked.limit ?? 20, 100),
    after,
  })
  const nextCursor = next === undefined ? '' : cursors.issue(binding, next)
  const total = await store.schedules.count(workspace, owner)
  return { data: runs.map(present), meta: { hasMore: nextCursor !== '', nextCursor, total } }
}

const dayMs = 86_400_000
const longestWindowMs = 7 * dayMs
/** Schedules of a workspace that are counted by their sandbox. */
const mostCounted = 100_000

const metricsOf = async ({ store, clock }: Deps, workspace: string, given: { since?: string; until?: string }) => {
  const until = timeOf(given.until) ?? clock.now()
  const since = timeOf(given.since) ?? until - dayMs
  if (since > until) throw fail('invalid_argument', { field: 'since', reason: 'must not be after until' })
  if (until - since > longestWindowMs)
    throw fail('invalid_argument', { field: 'since', reason: 'must be within seven days of until' })
  const { kind } = scheduleKind
  const { items } = await store.resources.list({ kind, workspace, sort: 'createdAt:desc', limit: mostCounted })
  const { succeeded, failed, submitting } = await store.schedules.tally(workspace, since, until)
  return {
    sandboxes: new Set(items.map(({ parent }) => parent)).size,
    schedules: items.length,
    executions: succeeded + failed + submitting,
    executionsByStatus: { succeeded, failed },
    since: iso(since),
    until: iso(until),
  }
}

export const scheduleRoutes = (deps: Deps): Bound[] => {
  const workspaceIn = (context: Context): string => factsOf(context).workspace.name
  return [
    handle(listSandboxRuns, async ({ params, query }, context) => {
      const workspace = workspaceIn(context)
      const { uid } = await sandboxNamed(deps, workspace, params.sandboxName)
      return runsPage(deps, workspace, { ...query, owner: uid })
    }),
    handle(listRuns, async ({ query: { sandbox, ...query } }, context) => {
      const workspace = workspaceIn(context)
      const owner = sandbox ? (await sandboxNamed(deps, workspace, sandbox)).uid : undefined
      return runsPage(deps, workspace, { ...query, owner })
    }),
    handle(scheduleMetrics, ({ query: { since, until } }, context) =>
      metricsOf(deps, workspaceIn(context), { ...(since ? { since } : {}), ...(until ? { until } : {}) }),
    ),
  ]
}
