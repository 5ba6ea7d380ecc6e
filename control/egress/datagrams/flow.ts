/** One flow of UDP, from a port of a sandbox to one place: a socket of its own that hears that place alone, or nothing where it may not go. */
import { createSocket, type Socket } from 'node:dgram'
import type { Place } from '../../relay/datagram-destination.ts'
import type { Engine } from '../engine.ts'
import type { EgressEvent } from '../events/events.ts'
import type { Tenant } from '../tenant.ts'
import { mayGo, type Judged } from './judge.ts'

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
/** Sent before the socket is ready. */
const mostWaiting = 16
/** What the kernel has not taken yet; more is lost, as on any busy way. */
export const mostQueuedBytes = 1_048_576

const tell = (tenant: Tenant, { address, port }: Place, verdict: EgressEvent['verdict'], judged: Judged): void => {
  // What passes is as often told as a flow begins, which is bounded.
  if (verdict === 'blocked' && !tenant.datagrams.told.take()) return
  const { reason, rule } = judged
  tenant.events.add({ kind: 'connection', verdict, reason, rule, host: address, port, address, protocol: 'udp' })
}

/** UDP promises nothing: what cannot be sent is lost, and whoever sent it asks again. */
const lost = (): void => {}

/** Sends to that place from a port of the kernel's choice; what others send there is not heard. */
const openSocket = ({ tenant, to }: FlowAsked, heard: (bytes: Buffer) => void): Pick<Flow, 'send' | 'end'> => {
  const socket: Socket = createSocket('udp4')
  const waiting: Buffer[] = []
  let state: 'opening' | 'open' | 'over' = 'opening'
  const end = () => {
    if (state === 'over') return
    state = 'over'
    socket.close()
  }
  // Refused by the other side, which may listen later; or no way there, which may be mended. One that cannot begin is over.
  socket.on('error', () => (state === 'opening' ? end() : undefined))
  socket.on('message', heard)
  socket.bind(0, tenant.sourceAddress, () => {
    if (state === 'over') return
    socket.connect(to.port, to.address, () => {
      if (state === 'over') return
      state = 'open'
      for (const bytes of waiting.splice(0)) socket.send(bytes, lost)
    })
  })
  return {
    end,
    send(bytes) {
      if (state === 'open' && socket.getSendQueueSize() < mostQueuedBytes) socket.send(bytes, lost)
      if (state === 'opening' && waiting.length < mostWaiting) waiting.push(bytes)
    },
  }
}

const refusedFlow = ({ engine, tenant, to, sender }: FlowAsked): Flow => {
  const now = engine.clock.now()
  const flow: Flow = {
    to,
    usedAt: now,
    lookedAt: now,
    answered: false,
    generation: tenant.generation,
    passes: false,
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
    return refusedFlow(asked)
  }
  tell(tenant, to, judged.allowed ? 'allowed' : 'would_block', judged)
  if (tenant.policy.source.mode === 'record') tenant.record.add({ host: to.address })
  const socket = openSocket(asked, bytes => {
    flow.usedAt = engine.clock.now()
    flow.answered = true
    if (tenant.datagrams.rate.take()) answer(bytes)
  })
  engine.datagrams.open++
  const open = { host: to.address, datagrams: to.port, read: false, end: () => flow.end() }
  const flow: Flow = {
    ...refusedFlow(asked),
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
