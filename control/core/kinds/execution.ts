/** One run of a job, and its tasks. Nothing runs them yet: they wait in the queue until they are cancelled. */
import { fail } from '../../../shared/errors.ts'
import { s, text, type Out } from '../../../shared/schema.ts'
import { environmentBytes, variablesWithin } from '../../../shared/variables.ts'
import { stateTable } from '../transitions/state-table.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Kind, Spec } from '../records/kind.ts'
import { innerMetadata } from '../records/metadata.ts'
import { idNames } from '../records/naming.ts'
import type { Presented } from '../records/present.ts'
import type { Resource } from '../store/store.ts'
import { jobKind } from './job.ts'
import { tasks } from './workload.ts'

const life = stateTable('queued', {
  queued: { start: 'pending', cancel: 'cancelled' },
  pending: { started: 'running', cancel: 'cancelled' },
  running: { succeeded: 'succeeded', failed: 'failed', timeout: 'timeout', cancel: 'cancelling' },
  // Tasks that run come to their end; no new ones start.
  cancelling: { ended: 'cancelled', cancel: 'cancelling' },
  cancelled: { cancel: 'cancelled' },
  failed: { cancel: 'failed' },
  succeeded: { cancel: 'succeeded' },
  timeout: { cancel: 'timeout' },
})

const over: readonly string[] = ['cancelled', 'failed', 'succeeded', 'timeout']

const body = s.object({
  id: s.nullish(text(128)),
  tasks: s.nullish(tasks),
  env: s.nullish(variablesWithin(environmentBytes.process)),
  memory: s.nullish(s.int().check(s.gte(1))),
  allowQueue: s.nullish(s.boolean()),
})

const isoTimes = { createdAt: s.string(), updatedAt: s.string(), completedAt: s.optional(s.string()) }

const answer = s.object({
  metadata: s.object({ id: s.string(), job: s.string(), workspace: s.string(), ...isoTimes }),
  spec: s.object({
    tasks: s.array(s.record(s.string(), s.unknown())),
    parallelism: s.int(),
    timeout: s.optional(s.int()),
    memoryOverride: s.optional(s.int()),
    envOverride: s.optional(s.string()),
  }),
  stats: s.record(s.string(), s.int()),
  status: s.enum(life.states as [string, ...string[]]),
})

const created = s.object({
  executionId: s.string(),
  id: s.string(),
  jobId: s.string(),
  workspaceId: s.string(),
  tasks: s.array(s.record(s.string(), s.unknown())),
})

const tasksOf = ({ tasks: given }: Spec) => (given ?? []) as Record<string, unknown>[]

const times = (record: Resource) => ({
  createdAt: new Date(record.createdAt).toISOString(),
  updatedAt: new Date(record.updatedAt).toISOString(),
  ...(over.includes(record.status) ? { completedAt: new Date(record.updatedAt).toISOString() } : {}),
})

const render = ({ spec, status }: Presented, record: Resource) => {
  const { memory, env, parallelism, timeout } = spec
  const total = tasksOf(spec).length
  const cancelled = record.status === 'cancelled' ? total : 0
  return {
    metadata: { id: record.name, job: record.parent, workspace: record.workspace, ...times(record) },
    spec: {
      tasks: tasksOf(spec),
      parallelism,
      ...(timeout ? { timeout } : {}),
      ...(memory ? { memoryOverride: memory } : {}),
      ...(env ? { envOverride: JSON.stringify(env) } : {}),
    },
    stats: { total, cancelled, failure: 0, retried: 0, running: 0, success: 0 },
    status,
  }
}

interface JobRuntime {
  readonly memory?: number
  readonly maxRetries?: number
  readonly maxConcurrentTasks?: number
  readonly timeout?: number
}

const runtimeOf = (job: Resource | undefined): JobRuntime => (job?.spec['runtime'] ?? {}) as JobRuntime

export const executionKind: Kind = defineKind({
  kind: 'execution',
  plural: 'executions',
  param: 'executionId',
  parent: jobKind,
  boundToParents: true,
  atRoot: true,
  scope: 'jobs',
  verbs: ['list', 'create', 'get', 'delete'],
  names: idNames,
  metadata: innerMetadata({ outer: ['job'] }),
  spec: s.object({}),
  sealed: [{ at: ['env'], as: 'texts' }],
  wire: {
    create: body,
    update: body,
    read: ({ tasks: given, ...spec }: Out<typeof body>) => ({ spec: { ...spec, tasks: given?.length ? given : [{}] } }),
    answer,
    render,
    created: {
      shape: created,
      render: ({ spec }, { name, parent, workspace }) => ({
        executionId: name,
        id: spec['id'] ?? name,
        jobId: parent,
        workspaceId: workspace,
        tasks: tasksOf(spec),
      }),
    },
  },
  life,
  removal: 'reconciled',
  removalEvent: 'cancel',
  lostSpec: () => ({ tasks: [], parallelism: 0 }),
  paginated: true,
  pageLimit: { fallback: 20, max: 100 },
  olderOffset: true,
  filtersStatus: false,
  anchored: false,
  createErrors: ['no_capacity', 'wrong_state'],
  example: { create: { tasks: [{ name: 'a' }, { name: 'b' }], env: { MODE: 'full' } } },
  check(spec, _previous, { parents: [job] }) {
    const { memory = 0 } = runtimeOf(job)
    if (job?.spec['enabled'] === false)
      throw fail('wrong_state', { kind: 'job', name: job.name, state: job.status, wanted: 'an execution' })
    if (memory && Number(spec['memory'] ?? 0) > memory)
      throw fail('invalid_argument', { field: 'memory', reason: `must be at most the ${memory} MB of the job` })
    if (spec['allowQueue'] === false) throw fail('no_capacity', { reason: 'nothing on this host runs jobs' })
  },
  issue({ spec }, { parents: [job] }) {
    const { maxRetries = 0, maxConcurrentTasks, timeout } = runtimeOf(job)
    const count = tasksOf(spec).length
    return {
      spec: { parallelism: maxConcurrentTasks ?? count, ...(timeout ? { timeout } : {}) },
      inside: Array.from({ length: count }, (_, at) => ({
        kind: taskKind.kind,
        name: `task-${String(at).padStart(4, '0')}`,
        spec: { maxRetries, ...(timeout ? { timeout: `${timeout}s` } : {}) },
      })),
    }
  },
})

const taskLife = stateTable('pending', {
  pending: { started: 'running', cancel: 'cancelled' },
  running: { succeeded: 'succeeded', failed: 'failed' },
  succeeded: {},
  failed: {},
  cancelled: {},
})

export const taskKind: Kind = defineKind({
  kind: 'task',
  plural: 'tasks',
  parent: executionKind,
  scope: 'jobs',
  access: { list: { scope: 'jobs:get' } },
  verbs: ['list'],
  names: idNames,
  spec: s.object({}),
  wire: {
    create: s.object({}),
    update: s.object({}),
    read: () => ({}),
    answer: s.object({
      metadata: s.object({ name: s.string(), ...isoTimes }),
      spec: s.object({ maxRetries: s.int(), timeout: s.optional(s.string()) }),
      status: s.enum(taskLife.states as [string, ...string[]]),
      conditions: s.array(s.object({})),
    }),
    render: ({ spec, status }, record) => ({
      metadata: { name: record.name, ...times(record) },
      spec,
      status,
      conditions: [],
    }),
  },
  life: taskLife,
  sharesEvents: ['cancel'],
  paginated: true,
  listedSince: '2026-04-28',
  sort: 'name:asc',
  filtersStatus: false,
  anchored: false,
})
