/** What the engine keeps for one sandbox. Nothing here is shared: neither names nor connections nor budgets. */
import type { Socket } from 'node:net'
import { compilePolicy, type CompiledPolicy } from '../../../shared/policy/decide.ts'
import { parseEgressPolicy } from '../../../shared/policy/policy.ts'
import { createDatagrams, type Datagrams } from './datagrams/flows.ts'
import { createNameBudget, type NameBudget } from './dns/budget.ts'
import { createNameTable, type NameTable } from './dns/name-table.ts'
import { createEventLog, type EventLog, type EventLogDeps } from './events/events.ts'
import { nothingKept, type Kept } from './events/kept.ts'
import { policyChange } from './events/policy-change.ts'
import { compileCanaries, type Canaries } from './events/canary.ts'
import { createRecord, type DecisionRecord } from './events/record.ts'
import { createPool, type Pool } from './http/pool.ts'
import { noNeighbours, type Neighbour, type Neighbours } from './neighbours.ts'
import { createRate, type Rate } from './rate.ts'
import { endOthers, type OpenConnection } from './under-way.ts'

export interface Awake {
  /** Record of the neighbour. */
  readonly uid: string
  /** Lets it sleep again. */
  release(): void
}

export interface Tenant {
  readonly id: string
  policy: CompiledPolicy
  /** How many policies it has had: what was connected to under one is not used again under the next. */
  generation: number
  canaries: Canaries
  /** A text without the values of its canaries and secrets. */
  mask(text: string): string
  /** Address that its connections leave from; undefined for the host's own choice. */
  sourceAddress: string | undefined
  /** Who in its network has that name or address. */
  neighbour(host: string): Neighbour | undefined
  readonly events: EventLog
  readonly record: DecisionRecord
  readonly names: NameTable
  readonly budget: NameBudget
  /** What it has under way with the DNS server. */
  readonly dns: { inFlight: number; connections: number; readonly rate: Rate }
  /** Its flows of UDP. */
  readonly datagrams: Datagrams
  /** Pieces of decoded bodies that are looked at for canaries, of 16 KB each. */
  readonly decoded: Rate
  /** Kept connections for plain HTTP. */
  readonly pool: Pool
  readonly open: Set<OpenConnection>
  /** Connections from the sandbox, whatever they do. */
  readonly sockets: Set<Socket>
  /** Connections that keep a neighbour awake. */
  readonly awake: Map<Socket, Awake>
  /** Connections that were handed to the relay and are none of Node's any more. */
  relayed: number
  /** Of bodies that are held in memory because something may go into them. */
  heldBytes: number
  /** Of heads of requests that are under way. */
  headBytes: number
}

export interface TenantLimits {
  /** Events kept for one sandbox. */
  readonly events: number
}

/** DNS questions of one sandbox. */
const questions = { burst: 400, perSecond: 100 } as const

/** Pieces of 16 KB: 32 MB at once, then 4 MB a second. */
const decodedPieces = { burst: 2_048, perSecond: 256 } as const

const maskOf = ({ source }: CompiledPolicy): Tenant['mask'] => {
  const secrets = source.routing.flatMap((rule, at) =>
    Object.entries(rule.secrets).map(([name, value]) => [`${at} ${name}`, value] as const),
  )
  return compileCanaries({ ...source.canaries, ...Object.fromEntries(secrets) }).mask
}

export const createTenant = (
  id: string,
  policy: unknown,
  deps: {
    now: () => number
    limits: TenantLimits
    neighbours?: Neighbours
    kept?: Kept
    after?: EventLogDeps['after']
  },
): Tenant => {
  const { neighbours = noNeighbours, kept = nothingKept, now, after } = deps
  const neighbour = (host: string) => neighbours.find(id, host)
  const compiled = compilePolicy(parseEgressPolicy(policy), host => neighbour(host)?.names)
  const events = createEventLog({
    now,
    after,
    capacity: deps.limits.events,
    kept: kept.events,
    mask: text => tenant.canaries.mask(text),
  })
  const tenant: Tenant = {
    id,
    policy: compiled,
    generation: 0,
    mask: maskOf(compiled),
    canaries: compileCanaries(compiled.source.canaries),
    sourceAddress: undefined,
    neighbour,
    events,
    record: createRecord(kept.seen),
    names: createNameTable(deps),
    budget: createNameBudget(deps),
    dns: { inFlight: 0, connections: 0, rate: createRate(deps, questions.burst, questions.perSecond) },
    datagrams: createDatagrams(deps),
    decoded: createRate(deps, decodedPieces.burst, decodedPieces.perSecond),
    pool: createPool(deps),
    open: new Set(),
    sockets: new Set(),
    awake: new Map(),
    relayed: 0,
    heldBytes: 0,
    headBytes: 0,
  }
  return tenant
}

/** From this moment on the new policy holds: what is open and would not be let through any more ends. */
export const replacePolicy = (tenant: Tenant, policy: unknown): void => {
  const compiled = compilePolicy(parseEgressPolicy(policy), host => tenant.neighbour(host)?.names)
  const change = policyChange(tenant.policy.source, compiled.source)
  if (change) {
    const reason = change.opens ? 'opened' : 'closed'
    tenant.events.add({ kind: 'change', verdict: 'allowed', reason, host: '', detail: change.text })
  }
  const before = tenant.policy
  tenant.policy = compiled
  tenant.generation++
  tenant.canaries = compileCanaries(compiled.source.canaries)
  tenant.mask = maskOf(compiled)
  tenant.names.expireAll()
  endOthers(tenant.open, before, compiled)
}

/** What leaves from now on leaves from there; what left from elsewhere ends. */
export const leaveFrom = (tenant: Tenant, sourceAddress: string | undefined): void => {
  if (tenant.sourceAddress === sourceAddress) return
  tenant.sourceAddress = sourceAddress
  endConnections(tenant)
  tenant.pool.clear()
}

export const endConnections = (tenant: Tenant): void => {
  for (const connection of tenant.open) connection.end()
  for (const socket of tenant.sockets) socket.destroy()
}

/** A neighbour's machine goes: what follows on a connection to it would be heard by whoever has its address next. */
export const partFrom = (tenant: Tenant, uid: string): void => {
  for (const connection of tenant.open) if (connection.neighbour === uid) connection.end()
  for (const [socket, awake] of tenant.awake) if (awake.uid === uid) socket.destroy()
}

/** Ends everything the sandbox has open; it opens nothing more. */
export const endTenant = (tenant: Tenant): void => {
  endConnections(tenant)
  tenant.events.flush()
  tenant.pool.close()
}
