/** From what happens to a record to what is written, by the rules of its kind. */
import type { Reference, Resource, ResourceEvent, Within, Write } from '../store/store.ts'
import { instanceLife } from './instance-life.ts'
import type { Move, OfRevisions } from './moves.ts'
import { leavingStatuses, type Rules, type RulesByKind } from './rules.ts'

export type RecordMove = Extract<
  Move,
  { create: unknown } | { record: unknown } | { lost: unknown } | { remove: unknown }
>

interface RecordWrites {
  readonly uid: string
  /** As it is afterwards; undefined when it is gone. */
  readonly after: Resource | undefined
  readonly writes: readonly Write[]
}

const need = (rules: RulesByKind, kind: string): Rules => {
  const found = rules.get(kind)
  if (!found) throw new Error(`this host knows no kind "${kind}"`)
  return found
}

/** Events with which a record begins to go; what lives inside it goes at once, or keeps it. */
const endings: ReadonlySet<string> = new Set(['delete', 'expire'])

/** Names of the kinds that live inside `kind`, at any depth. */
const insideOf = (rules: RulesByKind, kind: string): string[] => {
  const within = (one: Rules): boolean => one.parent !== undefined && (one.parent.kind === kind || within(one.parent))
  return [...rules.values()].filter(within).map(one => one.kind)
}

/** What is written when a record goes by `write`. */
const ending = (rules: RulesByKind, { kind, workspace, parent, name }: Resource, write: Write): Write[] => {
  const kinds = insideOf(rules, kind)
  const path = parent ? `${parent}/${name}` : name
  if (kinds.length === 0) return [write]
  const inside = { workspace, path, kinds }
  if (!need(rules, kind).keptWhileFull) return [{ type: 'removeInside', ...inside }, write]
  return [write, { type: 'nothingInside', ...inside, kind, name }]
}

const referencesOf = (rules: RulesByKind, kind: Rules, spec: Resource['spec']): readonly Reference[] | undefined =>
  kind.references?.(spec).flatMap(reference => {
    const target = rules.get(reference.kind)
    // Something that is always there can be named without a row.
    if (target?.implicit?.includes(reference.name)) return []
    const leaving = target ? leavingStatuses(target) : []
    return [{ ...reference, exceptStatuses: [...leaving, ...(reference.exceptStatuses ?? [])] }]
  })

const withinOf = ({ parent: outer }: Rules, workspace: string, path: string): Within | undefined => {
  if (!outer || !path) return undefined
  const cut = path.lastIndexOf('/')
  if (outer.implicit?.includes(path.slice(cut + 1))) return undefined
  return {
    kind: outer.kind,
    workspace,
    parent: cut < 0 ? '' : path.slice(0, cut),
    name: path.slice(cut + 1),
    exceptStatuses: leavingStatuses(outer),
  }
}

const eventOf = (status: string, message: string, now: number, revisions: OfRevisions = {}): ResourceEvent => ({
  time: now,
  type: 'deployment',
  status,
  message,
  ...revisions,
})

const creating = (rules: RulesByKind, move: Extract<Move, { create: unknown }>, now: number): RecordWrites => {
  const { create: draft, message, revisions, credential } = move
  const kind = need(rules, draft.kind)
  const status = draft.status ?? kind.initialStatus?.(draft.spec) ?? kind.life?.initial ?? ''
  const resource: Resource = { internal: {}, ...draft, version: 1, status, createdAt: now, updatedAt: now }
  const within = withinOf(kind, draft.workspace, draft.parent)
  const references = referencesOf(rules, kind, draft.spec)
  const write: Write = {
    type: 'create',
    resource,
    ...(within ? { within } : {}),
    ...(references ? { references } : {}),
    ...(kind.claims ? { claims: kind.claims(draft.spec, draft.name) } : {}),
    ...(credential ? { credential } : {}),
    membership: kind.membership?.(draft.spec),
    ...(kind.rates ? { metered: { rates: kind.rates(resource) } } : {}),
    ...(status ? { event: eventOf(status, message, now, revisions) } : {}),
  }
  return { uid: draft.uid, after: resource, writes: [write] }
}

const changing = (rules: RulesByKind, move: Extract<Move, { record: unknown }>, now: number): RecordWrites => {
  const { record, event, change = {} } = move
  const kind = need(rules, record.kind)
  const status = event && kind.life ? kind.life.next(record.status, event.name, record) : record.status
  const isOver = kind.hiddenStatuses.includes(status)
  const endedNow = isOver && !kind.hiddenStatuses.includes(record.status)
  const internal = { ...(change.internal ?? record.internal), ...(endedNow ? { terminatedAt: now } : {}) }
  // A record that is over uses nothing any more.
  const references = isOver ? [] : change.spec && referencesOf(rules, kind, change.spec)
  const claims = isOver ? [] : change.spec && kind.claims?.(change.spec, record.name)
  const write: Write = {
    type: 'update',
    uid: record.uid,
    version: record.version,
    change: { ...change, status, internal },
    ...(references ? { references } : {}),
    ...(claims ? { claims } : {}),
    membership: change.spec && kind.membership?.(change.spec),
    ...(kind.rates
      ? { metered: { rates: isOver ? [] : kind.rates({ spec: change.spec ?? record.spec, status }) } }
      : {}),
    ...(event && status ? { event: eventOf(status, event.message, now, event.revisions) } : {}),
    ...(event?.name === 'delete' && kind.keptWhileReferenced ? { unlessReferenced: true } : {}),
  }
  return {
    uid: record.uid,
    after: { ...record, ...change, status, internal, version: record.version + 1, updatedAt: now },
    writes: event && endings.has(event.name) ? ending(rules, record, write) : [write],
  }
}

const removing = (rules: RulesByKind, { remove: record }: Extract<Move, { remove: unknown }>): RecordWrites => {
  const kind = need(rules, record.kind)
  // A record goes by the same event as one that takes its time.
  kind.life?.next(record.status, 'delete', record)
  const { uid, version } = record
  const write: Write = { type: 'remove', uid, version, unlessReferenced: kind.keptWhileReferenced ?? false }
  return { uid, after: undefined, writes: ending(rules, record, write) }
}

/** What is left of it is gone with its event. */
const losing = (rules: RulesByKind, { lost, event }: Extract<Move, { lost: unknown }>, now: number): RecordWrites => {
  const { uid, after, writes } = changing(rules, { record: lost, event }, now)
  return {
    uid,
    after,
    writes: [
      ...writes.map(write => (write.type === 'update' ? { ...write, instead: lost } : write)),
      {
        type: 'mendInstances',
        owner: uid,
        status: instanceLife.next('running', 'stop', { kind: 'instance', name: uid }),
      },
    ],
  }
}

/** What is written for a record; throws `wrong_state` for an event that its table does not allow. */
export const recordWrites = (rules: RulesByKind, move: RecordMove, now: number): RecordWrites => {
  if ('create' in move) return creating(rules, move, now)
  if ('lost' in move) return losing(rules, move, now)
  return 'record' in move ? changing(rules, move, now) : removing(rules, move)
}
