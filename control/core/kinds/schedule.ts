/** A schedule of a sandbox: a command that is submitted at times, in UTC. Its status is its type. */
import { durationMs } from '../../../shared/durations.ts'
import { fail } from '../../../shared/errors.ts'
import { isInstant } from '../../../shared/instant.ts'
import { s, text, texts, type Out } from '../../../shared/schema.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Around, Spec } from '../records/kind.ts'
import { checkName, type Naming } from '../records/naming.ts'
import type { Presented } from '../records/present.ts'
import type { Resource } from '../store/store.ts'
import { stateTable } from '../transitions/state-table.ts'
import { isCron, nextCron } from './cron.ts'
import { sandboxFace } from './sandbox/kind.ts'

const types = ['cron', 'at', 'sleep'] as const
const defaultTimeoutS = 600
const defaultKept = 100
const mostKept = 1_000
const farthestMs = 366 * 86_400_000

const input = s.object({
  command: text(65_536),
  name: s.nullish(text(128)),
  workingDir: s.nullish(text(4096)),
  env: s.nullish(texts(32_768)),
  keepAlive: s.nullish(s.boolean()),
  timeout: s.nullish(s.int().check(s.gte(0), s.lte(2_147_483))),
})

const body = s.object({
  id: s.nullish(text(49)),
  type: s.nullish(s.enum(types)),
  value: s.nullish(text(128)),
  input: s.nullish(input),
  maxExecutions: s.nullish(s.int().check(s.gte(1), s.lte(mostKept))),
  /** Read-only: sent back by clients that change what they have read. */
  createdAt: s.nullish(s.string()),
  sandbox: s.nullish(s.string()),
})

const answer = s.object({
  id: s.string(),
  sandbox: s.string(),
  type: s.enum(['cron', 'at']),
  value: s.string(),
  input: s.object({
    command: s.string(),
    name: s.optional(s.string()),
    workingDir: s.optional(s.string()),
    env: s.optional(s.record(s.string(), s.string())),
    keepAlive: s.boolean(),
    timeout: s.int(),
  }),
  maxExecutions: s.int(),
  createdAt: s.string(),
})

type Input = Out<typeof input>
interface Given {
  readonly type: (typeof types)[number]
  readonly value: string
  readonly input: Input
  readonly maxExecutions?: number | null | undefined
}

/** As it is stored; values of `input.env` are sealed. */
export interface StoredSchedule {
  readonly type: 'cron' | 'at'
  /** Cron expression, or an instant. */
  readonly value: string
  readonly input: Pick<Input, 'command'> & {
    readonly name?: string
    readonly workingDir?: string
    readonly env?: Readonly<Record<string, string>>
    readonly keepAlive: boolean
    /** s; 0 for none. */
    readonly timeout: number
  }
  readonly maxExecutions: number
  /** Uid of its sandbox. */
  readonly owner: string
  /** Times up to here do not count: when it got its value, epoch ms. */
  readonly from: number
}

export const storedSchedule = ({ spec }: Pick<Resource, 'spec'>): StoredSchedule => spec as unknown as StoredSchedule

/** Which times have been fired: those up to here, epoch ms. */
const firedTo = ({ internal }: Pick<Resource, 'internal'>): number => Number(internal['firedTo'] ?? 0)

/** When it fires next, epoch ms; undefined: never. */
export const nextFire = (record: Pick<Resource, 'spec' | 'internal'>): number | undefined => {
  const { type, value, from } = storedSchedule(record)
  return type === 'at' ? Date.parse(value) : nextCron(value, Math.max(from, firedTo(record)))
}

const refuse = (reason: string) => fail('invalid_argument', { field: 'value', reason })

/** The time as it is stored: a duration becomes the instant when it is over. */
const timeOf = (
  { type, value }: Pick<Given, 'type' | 'value'>,
  now: number,
): Pick<StoredSchedule, 'type' | 'value'> => {
  if (type === 'cron') {
    if (!isCron(value)) throw refuse('must be a cron expression of five fields, such as 0 9 * * mon-fri')
    if (nextCron(value, now) === undefined) throw refuse('names no time that comes')
    return { type, value }
  }
  if (type === 'at' && !isInstant(value)) throw refuse('must be an instant as RFC 3339 has it: 2026-12-24T18:00:00Z')
  const at = type === 'at' ? Date.parse(value) : now + durationMs(value, 'value')
  if (at <= now) throw refuse('must be in the future')
  if (at - now > farthestMs) throw refuse('must be within a year')
  return { type: 'at', value: new Date(at).toISOString() }
}

/** The sandbox is looked for before a member is missed. */
const needWhole = (given: Partial<Given>): Given => {
  for (const field of ['type', 'value', 'input'] as const)
    if (given[field] === undefined || given[field] === null)
      throw fail('invalid_argument', { field, reason: 'is missing' })
  return given as Given
}

const accept = (
  { input: sent, maxExecutions, ...given }: Given,
  previous: Spec | undefined,
  { now, parents }: Around,
): Spec => {
  const before = previous as unknown as StoredSchedule | undefined
  const same = before && before.type === given.type && before.value === given.value
  const { command, name, workingDir, env, keepAlive, timeout } = sent
  if (command.trim() === '') throw fail('invalid_argument', { field: 'input.command', reason: 'is empty' })
  return {
    ...(same ? { type: before.type, value: before.value, from: before.from } : { ...timeOf(given, now), from: now }),
    input: {
      command,
      ...(name ? { name } : {}),
      ...(workingDir ? { workingDir } : {}),
      ...(env ? { env } : {}),
      keepAlive: keepAlive ?? true,
      timeout: timeout ?? defaultTimeoutS,
    },
    maxExecutions: maxExecutions ?? defaultKept,
    owner: parents[0]?.uid,
  }
}

const names: Naming = {
  check: name => checkName(name, 'id'),
  generate: ids => `schedule-${ids.short(8)}`,
}

/** A one-time schedule is over when it has fired, and its row goes. */
const life = stateTable('cron', {
  cron: { change: 'at', delete: 'DELETING' },
  at: { change: 'cron', delete: 'DELETING' },
  DELETING: { delete: 'DELETING' },
})

export const scheduleKind = defineKind({
  kind: 'schedule',
  plural: 'schedules',
  param: 'scheduleId',
  parent: defineKind(sandboxFace),
  scope: 'sandboxes',
  access: { list: { scope: 'sandboxes:get' } },
  names,
  spec: s.object({}),
  sealed: [{ at: ['input', 'env'], as: 'texts' }],
  showsSecrets: true,
  mostInside: 100,
  paginated: true,
  pageLimit: { fallback: 20, max: 100 },
  filtersStatus: false,
  anchored: false,
  types: value => (value === 'cron' || value === 'at' ? [value] : undefined),
  listedAcross: { path: 'schedules', access: { scope: 'sandboxes:list', role: 'member' }, inside: true },
  life,
  lostSpec: () => ({ type: 'at', value: '', input: { command: '', keepAlive: true, timeout: 0 }, maxExecutions: 0 }),
  statusMember: 'type',
  initialStatus: spec => storedSchedule({ spec }).type,
  consequence: (previous, spec) =>
    previous.status === storedSchedule({ spec }).type ? undefined : { event: 'change', message: 'has another type' },
  wire: {
    create: body,
    update: body,
    read: ({ id, type, value, input: sent, maxExecutions }: Out<typeof body>) => ({
      ...(id ? { metadata: { name: id } } : {}),
      spec: { type, value, input: sent, maxExecutions },
    }),
    answer,
    render: ({ spec, metadata: { createdAt } }: Presented, { name: id, parent: sandbox }: Resource) => {
      const { from: _from, owner: _owner, ...shown } = spec
      return { id, sandbox, ...shown, createdAt }
    },
  },
  accept: (given, previous, around) => accept(needWhole((given ?? {}) as Partial<Given>), previous?.spec, around),
  example: {
    create: {
      id: 'nightly',
      type: 'cron',
      value: '30 2 * * *',
      input: { command: 'python3 backup.py', env: { TOKEN: 'a' }, timeout: 900 },
    },
    update: { type: 'sleep', value: '30m', input: { command: 'python3 backup.py' } },
  },
})
