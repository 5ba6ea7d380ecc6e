/**
 * Holds machines to the outbound policies of their records: gives the egress engine every policy as it is written, and tells it which
 * record a connection belongs to: address → link → machine → record. Nothing here asks what a sandbox says.
 */
import type { Log } from '../../../shared/log.ts'
import type { Outbound as DriverOutbound } from '../../drivers/driver.ts'
import type { Egress } from '../egress/egress.ts'
import { isUp } from '../../core/transitions/instance-life.ts'
import type { GivenAddress, OutboundRules, RulesByKind } from '../../core/transitions/rules.ts'
import type { Instance, Resource, Store, Written } from '../../core/store/store.ts'
import type { EventFiles } from './event-files.ts'
import type { Members, Wake } from './members.ts'
import { createSources, type Sources } from './sources.ts'

export interface Outbound {
  /** Takes what was written: when this returns, it holds. Never throws: what cannot be made to hold is shut. */
  written(written: Written): void
  /** Takes all there is; to be called once, before anything is served. */
  load(): Promise<void>
  /** Whether the record's machines are held to a policy. */
  holds(uid: string): boolean
  /** Who wakes machines that others of their network connect to. */
  wakeBy(wake: Wake): void
  readonly engine: Pick<Egress, 'events' | 'follow' | 'learned' | 'letsDatagrams'>
}

interface Context {
  readonly egress: Egress
  readonly rules: RulesByKind
  readonly log: Log
  /** Version of the policy that the engine has, by record. */
  readonly versions: Map<string, string>
  /** What holds for each record that is held. */
  readonly held: Map<string, OutboundRules>
  readonly owners: Owners
  readonly members: Members
  readonly sources: Sources
  readonly files: EventFiles
}

/** Which record a machine is of, while it may use the network. */
export interface Owners {
  of(address: string | undefined): string | undefined
  note(instance: Pick<Instance, 'id' | 'owner' | 'status'>): void
}

export const createOwners = (driver: Pick<DriverOutbound, 'machineAt'>): Owners => {
  const byMachine = new Map<string, string>()
  return {
    of(address) {
      const machine = address === undefined ? undefined : driver.machineAt(address)
      return machine === undefined ? undefined : byMachine.get(machine)
    },
    note({ id, owner, status }) {
      if (status === 'stopping') byMachine.delete(id)
      else byMachine.set(id, owner.uid)
    },
  }
}

const shut = ({ egress, versions }: Context, uid: string): void => {
  versions.delete(uid)
  egress.remove(uid)
}

const hold = (context: Context, uid: string, rules: OutboundRules): void => {
  const { egress, versions, sources, log } = context
  const { leavesBy } = rules
  const sourceAddress = leavesBy === undefined ? undefined : sources.of(leavesBy, uid)
  const version = `${rules.version} ${leavesBy ?? ''} ${sourceAddress ?? ''}`
  if (versions.get(uid) === version) return
  try {
    if (leavesBy !== undefined && sourceAddress === undefined)
      throw new Error(`nothing gives an address to ${leavesBy}`)
    egress.setPolicy(uid, rules.open(), { sourceAddress })
    versions.set(uid, version)
  } catch (error) {
    // Sealed under another key, or written by a version that knew more: no policy is no way out.
    log.error('outbound.shut', { record: uid, error })
    shut(context, uid)
  }
}

const forget = (context: Context, uid: string): void => {
  const { held, members } = context
  members.leave(uid)
  if (!held.delete(uid)) return
  shut(context, uid)
  context.files.remove(uid)
}

/** What it gives to others: those that leave by that leave from there, from now on. */
const takeGiven = (context: Context, uid: string, given: GivenAddress | undefined): void => {
  const changed = new Set(context.sources.give(uid, given))
  if (changed.size === 0) return
  for (const [one, rules] of context.held)
    if (rules.leavesBy !== undefined && changed.has(rules.leavesBy)) hold(context, one, rules)
}

const takeRecord = (context: Context, record: Resource): void => {
  const rules = context.rules.get(record.kind)
  const outbound = rules?.workload?.outbound?.(record)
  if (!outbound) return forget(context, record.uid)
  context.held.set(record.uid, outbound)
  // One that is over keeps its row for a while, and another may have its name.
  context.members.join(record, rules?.hiddenStatuses?.includes(record.status) ? undefined : outbound.network)
  hold(context, record.uid, outbound)
}

const takeInstance = ({ owners, egress, members }: Context, instance: Instance): void => {
  owners.note(instance)
  members.place(instance.owner.uid, instance.id, isUp(instance) ? instance.address : undefined)
  // The machine it had is gone or goes, and nobody ends its connections at the other side.
  if (!isUp(instance)) egress.disconnect(instance.owner.uid)
}

export const createOutbound = (deps: {
  egress: Egress
  owners: Owners
  members: Members
  files: EventFiles
  rules: RulesByKind
  store: Store
  log: Log
}): Outbound => {
  const { egress, rules, store, owners, members, files, log } = deps
  const context: Context = {
    egress,
    rules,
    log,
    owners,
    members,
    files,
    sources: createSources(),
    versions: new Map(),
    held: new Map(),
  }
  const given = (record: Resource): void => takeGiven(context, record.uid, rules.get(record.kind)?.gives?.(record))
  return {
    engine: egress,
    holds: uid => context.held.has(uid),
    wakeBy: members.wakeBy,
    written({ resources, instances, removed }) {
      for (const { uid } of removed) {
        takeGiven(context, uid, undefined)
        forget(context, uid)
      }
      for (const record of resources) given(record)
      for (const record of resources) takeRecord(context, record)
      for (const instance of instances) takeInstance(context, instance)
    },
    async load() {
      const unread: string[] = []
      // No policy is no way out: of what cannot be read, and of what would have left by it.
      const shutFor = (record: string, error: unknown): void => {
        unread.push(record)
        log.error('outbound.shut', { record, error })
      }
      for (const [kind, { gives }] of rules)
        if (gives) for (const record of await store.resources.everyOf(kind, shutFor)) given(record)
      for (const [kind, { workload }] of rules)
        if (workload?.outbound)
          for (const record of await store.resources.everyOf(kind, shutFor)) takeRecord(context, record)
      files.keepOnly(new Set([...context.held.keys(), ...unread]))
      // Whose machine such a row is nobody knows: it has no owner here, and what comes from it is refused.
      for (const instance of await store.instances.every(() => {})) takeInstance(context, instance)
    },
  }
}
