/**
 * What a kind declares of the life of its records and of the machines that run for them. The machinery (transitions,
 * the runner, standby, gateway, metering) asks these rules and nothing else of a kind.
 *
 * **Events.** A kind's table may name any events it likes. The machinery raises these, where the table allows them in the
 * status that a record has, and leaves the record as it is where it does not:
 *
 *     delete     asked for                              expire   a rule of expiry fired
 *     deployed   an instance of it has started          lost     an instance ended by itself
 *     broke      it cannot be started, and trying again will not help
 *     waiting    an instance of it cannot be planned yet: its image is being pulled
 *     gone       it had instances to give back, and has none any more
 */
import type { MachineSpec } from '../../drivers/driver.ts'
import type {
  Address,
  Instance,
  Membership,
  PinnedImage,
  Rate,
  Reference,
  Resource,
  ResourceEvent,
} from '../store/store.ts'
import type { StateTable } from './state-table.ts'

export interface Rules {
  /** Singular, as stored: `sandbox`. */
  readonly kind: string
  /** The kind its records live inside; they go when that one goes. */
  readonly parent?: Rules
  /** Absent for kinds without a status. */
  readonly life?: StateTable
  /** Statuses of records that are over: left out of lists unless asked for; nothing can live in them or name them. */
  readonly hiddenStatuses: readonly string[]
  /** Names that are there without a row, as if somebody had made them. */
  readonly implicit?: readonly string[]
  /** Cannot be deleted while another resource names it: `in_use`. */
  readonly keptWhileReferenced?: boolean
  /** Cannot be deleted while another resource lives inside it: `in_use`. Of the others, what is inside goes with them. */
  readonly keptWhileFull?: boolean
  /** Status of a new record; the table's first one unless given. */
  initialStatus?(spec: Resource['spec']): string
  /** The other resources that a spec names, in which of its fields (`spec.volumes.0.name`), and in which statuses they will not do. */
  references?(spec: Resource['spec']): readonly Reference[]
  /** What no other record of its kind and workspace may have, or of any workspace where it begins with a slash: an address, for example. */
  claims?(spec: Resource['spec'], name: string): readonly string[]
  /** What the record itself is metered for, whether or not anything runs for it. */
  rates?(record: Pick<Resource, 'spec' | 'status'>): readonly Rate[]
  /** Digests of images that are kept as long as the record is there, besides those of its machines. */
  pins?(record: Pick<Resource, 'spec'>): readonly string[]
  /** What a person is in its workspace, as the spec says. */
  membership?(spec: Resource['spec']): Membership | undefined
  /** An address of this box that the record gives to those that leave by `to`. */
  gives?(record: Resource): GivenAddress | undefined
  /** When the record ends by its own rules; undefined means never. */
  expiry?(record: Resource, instances: readonly Instance[]): Expiry | undefined
  /** How long a record that is over stays readable, ms. */
  retentionMs?(record: Resource): number
  /** For kinds whose records have machines. */
  readonly workload?: Workload
}

/** An address, and what of a workspace has it: `team/default/office`. */
export interface GivenAddress {
  readonly to: string
  readonly address: string
}

export interface Expiry {
  /** Epoch ms. */
  readonly at: number
  /** Which rule, for the event: `ttl 24h`. */
  readonly rule: string
}

/** So many machines of one revision. */
export interface Wanted {
  readonly revision: string
  readonly count: number
}

export interface Workload {
  /** Which machines the record is to have in the status it has: each revision once. Machines of other revisions are stopped. */
  wanted(owner: Resource): readonly Wanted[]
  /** How many may be made just now; any number unless given. Who limits it has the record looked at again when it is more. */
  mayMake?(owner: Resource): number
  /** What each of its machines may write, MB; none says how much unless given. */
  storageMb?(owner: Pick<Resource, 'spec'>): number
  /** What a machine is metered for in the state it is in; nothing for one that is nobody's bill. */
  rates(instance: Instance, owner: Resource): readonly Rate[]
  /**
   * Everything a machine is made from. Throws what a caller could mend (`invalid_image`), which is not tried again, and `busy`
   * while something of it is still on its way: asked again soon.
   */
  plan(owner: Resource, instance: Instance): Promise<MachinePlan>
  /** Reference of the image that machines of the record are made from; it is not deleted while the record is there. */
  image?(owner: Resource): string
  /**
   * What may leave its machines. Undefined: they are held to nothing, and that stays so. Otherwise their `plan` says `held`, and the
   * policy may change at any time.
   */
  outbound?(owner: Resource): OutboundRules | undefined
  /** How long what runs in a machine may take to end when it is asked to, before the machine is taken; 0 unless given. */
  graceMs?(owner: Resource): number
  /** When one of its machines that nobody uses is suspended; undefined means never. */
  standby(owner: Resource, instance: Instance): StandbyRule | undefined
  /**
   * Waits until what runs in a machine that has just started can be used: only then it counts as started. Throws what the record is told
   * when it never can. A machine whose daemon answers can be used unless given.
   */
  ready?(started: Started): Promise<void>
  /**
   * What follows for the record when a machine that never started cannot be started, which then goes; undefined when it is tried again and
   * again. Unless given, it is the event `broke`, where the table allows it.
   */
  abandon?(owner: Resource, instance: Instance, reason: string): Step | undefined
  /**
   * What is due for the record with the machines that it has. It is asked after each change of either, and instead of the
   * event `deployed`.
   */
  settle?(owner: Resource, instances: readonly Instance[], now: number): Settled
}

/** A machine whose daemon answers. */
export interface Started {
  readonly owner: Resource
  readonly instance: Instance
  readonly address: Address
  readonly signal: AbortSignal
}

/** An event of a record, and what the record remembers besides. */
export interface Step {
  readonly event?: {
    readonly name: string
    readonly message: string
    readonly revisions?: Pick<ResourceEvent, 'revision' | 'canaryRevision'>
  }
  readonly internal?: Resource['internal']
}

export interface Settled {
  /** Undefined when nothing is due now. */
  readonly step?: Step | undefined
  /** Something may be due in so many ms, whatever happens until then. */
  readonly againMs?: number | undefined
}

export interface StandbyRule {
  /** Idle for so long. */
  readonly afterMs: number
  /** Sooner than its daemon collects by itself what its start has left: it is told to before. */
  readonly tidies?: boolean
  /** One that works without being asked is not idle. */
  readonly cpuAware?: boolean
  /** Asleep for so long, its memory is given back to the box; never unless given. */
  readonly reclaimAfterMs?: number
}

export interface MachinePlan {
  readonly image: PinnedImage
  /** The channel is not the plan's. */
  readonly spec: Omit<MachineSpec, 'channel'>
  /** No machine that runs already can become it. */
  readonly onlyNew?: boolean
  /** The snapshot whose files a new machine begins with. */
  readonly files?: string
}

/** A policy of the egress engine, as it is stored and as the engine takes it. */
export interface OutboundRules {
  /** Differs when the policy does; secrets are sealed in it. */
  readonly version: string
  /** The policy, its secrets opened. */
  open(): unknown
  /** The network it is in: those in the same one reach each other. Undefined: it reaches no other machine. */
  readonly network?: string | undefined
  /** What gives it the address that it leaves from; while nothing does it reaches nothing. Undefined: it leaves from the box's. */
  readonly leavesBy?: string | undefined
}

/** How many machines the record is to have, of all its revisions. */
export const wantedCount = ({ wanted }: Pick<Workload, 'wanted'>, owner: Resource): number =>
  wanted(owner).reduce((sum, { count }) => sum + count, 0)

/** The rules of every kind of this host, by its name. */
export type RulesByKind = ReadonlyMap<string, Rules>

/** Statuses of records that are over or on their way out: nothing new lives in them, names them or changes them. */
export const leavingStatuses = ({ life, hiddenStatuses }: Rules): readonly string[] => {
  const leaving = life?.states.filter(state => life.moves[state]?.['delete'] === state) ?? []
  return [...new Set([...hiddenStatuses, ...leaving])]
}
