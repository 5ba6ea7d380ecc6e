/** One flow of UDP, from a port of a sandbox to one place: a socket of its own that hears that place alone, or nothing where it may not go. */
import type { Place } from '../../../base/relay/datagram-destination.ts'
import type { Engine } from '../engine.ts'
import type { EgressEvent } from '../events/events.ts'
import type { Tenant } from '../tenant.ts'
import { mayGo, type Judged } from './judge.ts'
import { openSocket } from './open-socket.ts'

export interface Flow {
  readonly to: Place
  /** When something last went by, and when the kernel was last asked whether it still goes there; the engine's clock. */
  usedAt: number
  lookedAt: number
  answered: boolean
  /** It is of this policy: one that was refused may pass under another. */
  readonly generation: number
  /** False where it was refused. */
  readonly passes: boolean
  /** Nobody forbids it: what was in its way may be gone at the next look. */
  readonly again: boolean
  send(bytes: Buffer): void
  end(): void
}

export interface FlowAsked {
  readonly engine: Engine
  readonly tenant: Tenant
  readonly to: Place
  /** Address and port that it comes from, as one text. */
  readonly sender: string
  /** To where it came from. */
  readonly answer: (bytes: Buffer) => void
}

/** Flows of all sandboxes, each a descriptor. */
const mostOfAll = 4_096

const tell = (tenant: Tenant, { address, port }: Place, verdict: EgressEvent['verdict'], judged: Judged): void => {
  // What passes is as often told as a flow begins, which is bounded.
  if (verdict === 'blocked' && !tenant.datagrams.told.take()) return
  const { reason, rule } = judged
  tenant.events.add({ kind: 'connection', verdict, reason, rule, host: address, port, address, protocol: 'udp' })
}

const refusedFlow = ({ engine, tenant, to, sender }: FlowAsked, again: boolean): Flow => {
  const now = engine.clock.now()
  const flow: Flow = {
    to,
    usedAt: now,
    lookedAt: now,
    answered: false,
    generation: tenant.generation,
    passes: false,
    again,
    send() {},
    end: () => tenant.datagrams.forget(sender, flow),
  }
  return flow
}

/** Judges it, says so, and begins it. */
export const beginFlow = (asked: FlowAsked): Flow => {
  const { engine, tenant, to, sender, answer } = asked
  const judged = mayGo(engine, tenant, to)
  const limited = judged.ok && engine.datagrams.open >= mostOfAll
  if (!judged.ok || limited) {
    tell(tenant, to, 'blocked', limited ? { ...judged, reason: 'limit' } : judged)
    return refusedFlow(asked, limited)
  }
  tell(tenant, to, judged.allowed ? 'allowed' : 'would_block', judged)
  if (tenant.policy.source.mode === 'record') tenant.record.add({ host: to.address })
  const socket = openSocket(to, tenant.sourceAddress, {
    heard(bytes) {
      flow.usedAt = engine.clock.now()
      flow.answered = true
      if (tenant.datagrams.rate.take()) answer(bytes)
    },
    failed() {
      tell(tenant, to, 'blocked', { ...judged, reason: 'unreachable' })
      // Ends it, and keeps its sender from beginning another with each datagram.
      tenant.datagrams.set(sender, refusedFlow(asked, true))
    },
  })
  engine.datagrams.open++
  const open = { host: to.address, datagrams: to.port, read: false, end: () => flow.end() }
  const flow: Flow = {
    ...refusedFlow(asked, false),
    passes: true,
    send: socket.send,
    end() {
      if (!tenant.open.delete(open)) return
      engine.datagrams.open--
      tenant.datagrams.forget(sender, flow)
      socket.end()
      const now = mayGo(engine, tenant, to)
      // A policy that lets it go on has not ended it.
      if (!now.ok) tell(tenant, to, 'blocked', now)
    },
  }
  tenant.open.add(open)
  return flow
}
