/**
 * Holds machines to the outbound policies of their records: gives the egress engine every policy as it is written, and tells it which
 * record a connection belongs to: address → link → machine → record. Nothing here asks what a sandbox says.
 */
import type { Log } from '../../shared/log.ts'
import type { Outbound as DriverOutbound } from '../drivers/driver.ts'
import type { Egress } from '../egress/egress.ts'
import { isUp } from '../reconcile/instance-life.ts'
import type { OutboundRules, RulesByKind } from '../reconcile/rules.ts'
import type { Instance, Resource, Store, Written } from '../store/store.ts'

export interface Outbound {
  /** Takes what was written: when this returns, it holds. Never throws: what cannot be made to hold is shut. */
  written(written: Written): void
  /** Takes all there is; to be called once, before anything is served. */
  load(): Promise<void>
  /** Whether the record's machines are held to a policy. */
  holds(uid: string): boolean
  readonly engine: Pick<Egress, 'events' | 'follow' | 'learned'>
}

interface Context {
  readonly egress: Egress
  readonly rules: RulesByKind
  readonly log: Log
  /** Version of the policy that the engine has, by record. */
  readonly versions: Map<string, string>
  readonly owners: Owners
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
  const { egress, versions, log } = context
  if (versions.get(uid) === rules.version) return
  try {
    egress.setPolicy(uid, rules.open())
    versions.set(uid, rules.version)
  } catch (error) {
    // Sealed under another key, or written by a version that knew more: no policy is no way out.
    log.error('outbound.shut', { record: uid, error })
    shut(context, uid)
  }
}

const takeRecord = (context: Context, record: Resource): void => {
  const rules = context.rules.get(record.kind)?.workload?.outbound?.(record)
  if (rules) hold(context, record.uid, rules)
  else if (context.versions.has(record.uid)) shut(context, record.uid)
}

const takeInstance = ({ owners, egress }: Context, instance: Instance): void => {
  owners.note(instance)
  // The machine it had is gone or goes, and nobody ends its connections at the other side.
  if (!isUp(instance)) egress.disconnect(instance.owner.uid)
}

export const createOutbound = (deps: {
  egress: Egress
  owners: Owners
  rules: RulesByKind
  store: Store
  log: Log
}): Outbound => {
  const { egress, rules, store, owners, log } = deps
  const context: Context = { egress, rules, log, owners, versions: new Map() }
  return {
    engine: egress,
    holds: uid => context.versions.has(uid),
    written({ resources, instances, removed }) {
      for (const record of resources) takeRecord(context, record)
      for (const instance of instances) takeInstance(context, instance)
      for (const { uid } of removed) if (context.versions.has(uid)) shut(context, uid)
    },
    async load() {
      for (const [kind, { workload }] of rules)
        if (workload?.outbound) for (const record of await store.resources.everyOf(kind)) takeRecord(context, record)
      for (const instance of await store.instances.every()) takeInstance(context, instance)
    },
  }
}
