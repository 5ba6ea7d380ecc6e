/**
 * The one place that writes what status a record has, what state an instance is in, and what is metered. A caller says
 * what happens; which status that leads to, which instances are not wanted any more, what each costs from now on and
 * which event is written down follow from the kinds' rules, and all of it is one transaction.
 */
import type { Clock } from '../../../shared/clock.ts'
import { isError } from '../../../shared/errors.ts'
import type { AuditedBy, Instance, Resource, Write, WritableStore, Written } from '../store/store.ts'
import { auditWrites } from './audited.ts'
import type { Changes } from './changes.ts'
import { instanceLife } from './instance-life.ts'
import { newInstance, type Move } from './moves.ts'
import { recordWrites, type RecordMove } from './record-writes.ts'
import type { RulesByKind } from './rules.ts'
import { unwantedOf } from './unwanted.ts'

export type { Draft, InstanceDraft, Move } from './moves.ts'

export interface Transition {
  /**
   * Makes all of it happen, or nothing. Throws `changed_meanwhile` when a row is not as it was read, `wrong_state` for an
   * event that its table does not allow, and what `Write` says. `by` asked for it, which is written down with it; without one nobody did: a loop.
   */
  write(moves: readonly Move[], by?: AuditedBy): Promise<Written>
}

interface Context {
  readonly store: WritableStore
  readonly rules: RulesByKind
  readonly now: number
  /** Records as they are after this transaction, by uid; undefined for those that it removes. */
  readonly after: Map<string, Resource | undefined>
}

const isRecordMove = (move: Move): move is RecordMove =>
  'create' in move || 'record' in move || 'lost' in move || 'remove' in move

/** The record that a move is about as it is before it. */
const recordBefore = (move: Move): Resource | undefined =>
  'record' in move ? move.record : 'lost' in move ? move.lost : 'remove' in move ? move.remove : undefined

/** The owner as it is after this transaction. */
const ownerOf = async ({ store, after }: Context, uid: string): Promise<Resource | undefined> =>
  after.has(uid) ? after.get(uid) : store.resources.getByUid(uid)

/** Moves that stop what the records of this transaction do not want after it, but for the instances it is about. */
const stopping = async (context: Context, moves: readonly Move[]): Promise<Move[]> => {
  const { store, rules, after } = context
  const about = new Set(moves.map(move => ('instance' in move ? move.instance.id : 'drop' in move ? move.drop.id : '')))
  const stops: Move[] = []
  for (const move of moves) {
    const before = recordBefore(move)
    const workload = before && rules.get(before.kind)?.workload
    if (!workload) continue
    // Those of a lost record that cannot be read are stopped with it.
    const instances = await store.instances.ofOwners([before.uid], 'lost' in move ? () => {} : undefined)
    const owner = after.get(before.uid)
    const unwanted = owner ? unwantedOf(owner, instances, workload) : instances
    for (const instance of unwanted)
      if (!about.has(instance.id) && instance.status !== 'stopping') stops.push({ instance, event: 'stop' })
  }
  return stops
}

const addWrite = ({ now }: Context, { add }: Extract<Move, { add: unknown }>): Write => ({
  type: 'addInstance',
  instance: newInstance(add, now),
})

const instanceWrites = async (context: Context, move: Extract<Move, { instance: Instance }>): Promise<Write[]> => {
  const { rules, after } = context
  const { instance, event, change } = move
  const { id, version, status: before } = instance
  if (!event) return [{ type: 'updateInstance', id, version, change: change ?? {} }]
  const status = instanceLife.next(before, event, { kind: 'instance', name: id })
  const next = { ...instance, ...(change as Partial<Instance>), status }
  const owner = await ownerOf(context, next.owner.uid)
  const rates = owner ? (rules.get(owner.kind)?.workload?.rates(next, owner) ?? []) : []
  const metered = { rates, lost: event === 'lost' }
  const write: Write = { type: 'updateInstance', id, version, change: { ...change, status }, metered }
  // What it costs follows from the owner as it was read.
  return owner && !after.has(owner.uid) ? [{ type: 'expect', uid: owner.uid, version: owner.version }, write] : [write]
}

const writesOf = async (context: Context, move: Move): Promise<readonly Write[]> => {
  if ('expect' in move) return [{ type: 'expect', uid: move.expect.uid, version: move.expect.version }]
  if ('atMost' in move)
    return [
      { type: 'atMost', ...move.atMost, exceptStatuses: context.rules.get(move.atMost.kind)?.hiddenStatuses ?? [] },
    ]
  if ('add' in move) return [addWrite(context, move)]
  if ('drop' in move) return [{ type: 'removeInstance', id: move.drop.id, version: move.drop.version }]
  if ('identity' in move) return [{ type: 'identity', change: move.identity }]
  if ('scheduleRun' in move) return [{ type: 'addScheduleRun', run: move.scheduleRun, keep: move.keep }]
  if ('endRun' in move) return [{ type: 'endScheduleRun', id: move.endRun, result: move.result }]
  if ('audit' in move) return [{ type: 'audit', entry: move.audit }]
  if ('removeWorkspace' in move) return [{ type: 'removeWorkspace', name: move.removeWorkspace }]
  if ('instance' in move) return instanceWrites(context, move)
  // Made before: what follows for instances depends on the records as they become.
  return []
}

/** Whom a move concerns: those who wait for these records are told. */
const concerned = (move: Move): readonly string[] => {
  if ('create' in move) return [move.create.uid]
  if ('record' in move) return [move.record.uid]
  if ('lost' in move) return [move.lost.uid]
  if ('remove' in move) return [move.remove.uid]
  // Whoever waits for one of its records is told of each.
  if ('expect' in move || 'atMost' in move || 'identity' in move || 'audit' in move) return []
  if ('removeWorkspace' in move || 'scheduleRun' in move || 'endRun' in move) return []
  if ('add' in move) return [move.add.owner.uid]
  if ('drop' in move) return [move.drop.owner.uid]
  const { instance, change } = move
  return [instance.owner.uid, ...(change?.owner ? [change.owner.uid] : [])]
}

export const transition = (deps: {
  store: WritableStore
  clock: Clock
  rules: RulesByKind
  changes: Changes
  /** Told of everything that was written, before whoever asked for it hears. Must not throw and must not wait. */
  written?: ((written: Written) => void) | undefined
}): Transition => {
  const { store, clock, rules, changes, written: tell } = deps
  return {
    async write(moves, by) {
      const now = clock.now()
      const context: Context = { store, rules, now, after: new Map() }
      const ofRecords = moves.filter(isRecordMove).flatMap(move => {
        const { uid, after, writes } = recordWrites(rules, move, now)
        context.after.set(uid, after)
        return writes
      })
      const rest = [...moves, ...(await stopping(context, moves))]
      const others: Write[] = []
      for (const move of rest) others.push(...(await writesOf(context, move)))
      const written = await store.apply([...(by ? auditWrites(moves, by) : []), ...ofRecords, ...others], now)
      tell?.(written)
      for (const uid of new Set([...moves.flatMap(concerned), ...written.removed.map(({ uid }) => uid)]))
        changes.changed(uid)
      return written
    },
  }
}

/** Takes a step that reads before it writes, again when somebody else wrote in between; `attempts` times at most. */
export const onNewest = async <T>(step: () => Promise<T>, attempts = 20): Promise<T> => {
  for (let attempt = 1; ; attempt++)
    try {
      return await step()
    } catch (error) {
      if (!isError(error, 'changed_meanwhile') || attempt >= attempts) throw error
    }
}
