/**
 * Keeps what the daemons of running machines were told as their records say. A machine is told all of it when it starts; when
 * its record has been written since then, or when an earlier host has started it, it is looked at before it is used again,
 * and told what has changed. One that sleeps is told when it wakes.
 */
import { createHash } from 'node:crypto'
import { messageOf } from '../../../shared/errors.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import type { ConfigurationChange } from '../../../shared/wire/host.ts'
import { configurationOf } from '../../drivers/configuration.ts'
import type { MachinePlan, RulesByKind } from '../transitions/rules.ts'
import type { Address, Instance, Resource, Store, Written } from '../store/store.ts'

/** Lets a machine write so much, MB, if it may not yet. */
export type Grow = (instance: Instance, mb: number) => Promise<void>

/** Tells a daemon; resolves with the settings that it takes at its start only. Throws when it refuses or does not answer. */
export type Tell = (address: Address, change: ConfigurationChange) => Promise<readonly string[]>

export interface Configurer {
  /** Takes what was written. */
  written(written: Written): void
  /** The machine has just started as `plan` says. */
  started(instance: Instance, owner: Resource, plan: MachinePlan): void
  /** Whether there may be something to tell. */
  isDue(instance: Instance): boolean
  /**
   * Tells the daemon of a machine that is awake what it has to know, once, whoever asks meanwhile. Never throws: a daemon that
   * refuses it, or does not answer, is a tenant's own trouble, and is told again later.
   */
  ensure(instance: Instance): Promise<void>
  /** The machine is no more. */
  forget(id: string): void
}

interface Told {
  /** Of the record as it was then. */
  readonly record: string
  /** Of the configuration; undefined when the daemon did not take it. */
  readonly digest: string | undefined
  /** `elapsed` from which on it may be tried again. */
  readonly againAt: number
}

interface Deps {
  readonly store: Store
  readonly rules: RulesByKind
  readonly clock: Clock
  readonly log: Log
  readonly tell: Tell
  readonly grow: Grow
}

interface Context extends Deps {
  /** What the records say, by uid; unknown until they are written or looked at. */
  readonly records: Map<string, string>
  /** What was told, by machine; unknown for one that an earlier host has started. */
  readonly told: Map<string, Told>
  readonly underWay: Map<string, Promise<void>>
}

const againMs = 5_000

/** Holds an environment with secrets in it: only its digest is kept. */
const digestOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url')

/** Differs when what its machines are made from may do. */
const stateOf = ({ uid, name, workspace, spec, metadata }: Resource): string =>
  digestOf([uid, name, workspace, spec, metadata.labels])

const changeOf = ({ spec }: MachinePlan): ConfigurationChange => ({
  ...configurationOf(spec),
  ...(spec.etc ? { etc: spec.etc } : {}),
})

const isDue = ({ records, told, clock }: Context, { id, owner }: Instance): boolean => {
  const last = told.get(id)
  if (!last) return true
  return (last.record !== records.get(owner.uid) || last.digest === undefined) && clock.elapsed() >= last.againAt
}

const look = async (context: Context, instance: Instance, address: Address): Promise<void> => {
  const { store, rules, clock, log, records, told, tell, grow } = context
  const { id } = instance
  let record = ''
  try {
    const owner = await store.resources.getByUid(instance.owner.uid)
    const workload = owner && rules.get(owner.kind)?.workload
    if (!owner || !workload) return
    record = stateOf(owner)
    // What was written meanwhile is newer than what was read.
    if (!records.has(owner.uid)) records.set(owner.uid, record)
    const plan = await workload.plan(owner, instance)
    const change = changeOf(plan)
    const digest = digestOf(change)
    if (told.get(id)?.digest !== digest) {
      const unapplied = await tell(address, change)
      log.info('instance.configured', { instance: id, owner: owner.uid, unapplied })
    }
    // A disk without room for more is no reason not to tell the rest.
    if (plan.spec.storageMb !== undefined) await grow(instance, plan.spec.storageMb)
    told.set(id, { record, digest, againAt: 0 })
  } catch (error) {
    log.warn('instance.not-configured', { instance: id, owner: instance.owner.uid, reason: messageOf(error) })
    told.set(id, { record, digest: undefined, againAt: clock.elapsed() + againMs })
  }
}

const ensure = async (context: Context, instance: Instance): Promise<void> => {
  const { underWay } = context
  const { id, address } = instance
  while (isDue(context, instance)) {
    // One that an older build has started has no way to be told.
    if (!address?.channel) return
    const before = underWay.get(id)
    const looking = before ?? look(context, instance, address).finally(() => underWay.delete(id))
    underWay.set(id, looking)
    await looking
    if (!before) return
  }
}

export const createConfigurer = (deps: Deps): Configurer => {
  const context: Context = { ...deps, records: new Map(), told: new Map(), underWay: new Map() }
  const { rules, records, told } = context
  return {
    written({ resources, removed }) {
      for (const record of resources) if (rules.get(record.kind)?.workload) records.set(record.uid, stateOf(record))
      for (const { uid } of removed) records.delete(uid)
    },
    started({ id }, owner, plan) {
      told.set(id, { record: stateOf(owner), digest: digestOf(changeOf(plan)), againAt: 0 })
    },
    isDue: instance => isDue(context, instance),
    ensure: instance => ensure(context, instance),
    forget: id => void told.delete(id),
  }
}
