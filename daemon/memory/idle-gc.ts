/**
 * Collects garbage when the daemon is idle. V8 collects when it allocates, and counts little of what lies outside of its
 * heap: left alone, an upload holds 80 MB of buffers that were read and written long ago, and an idle daemon keeps what
 * a burst of requests left behind for as long as it is idle, which is most of a sandbox's life.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { tidyAfterMs } from '../../shared/wire/system.ts'
import type { Collector } from '../node-internals/collector.ts'
import { collectAll, collectBuffers, collectFirst, type Collected } from './collect.ts'

/** Until the next check: after activity, while a request does nothing, and once all is collected while one such as a log stream is open. */
const [busyCheckMs, quietCheckMs, openCheckMs] = [100, 500, 10_000]
/** After so long without work everything is collected. */
const quietMs = 2_000
/**
 * Not so soon after the start: it takes half as much processor as the start itself, and of machines that are made many at a time
 * the first ones would collect while the others start.
 */
const startMs = tidyAfterMs - quietMs
/** A check that is later than this was not waited for: the machine slept, and somebody waits for what woke it. */
const lateMs = 1_000
/** Then once more: what tidies up after work, as the supervisor does every 5 s, leaves garbage too. */
const recheckMs = 6_000
/** Share of a processor above which the daemon counts as working. */
const busyShare = 0.05

interface GcState extends Collected {
  timer: NodeJS.Timeout | undefined
  /** In seconds of `process.uptime`: not everything is collected before. */
  readonly notBefore: number
  /** What the next check was to wait. */
  waitMs: number
  openRequests: number
  quietForMs: number
  /** Everything was collected since the last activity. */
  collected: boolean
  recheckMs: number
  /** The next check is as near as can be: activity must not put it off. */
  checkIsNear: boolean
  last: { at: number; cpu: NodeJS.CpuUsage }
}

/** Milliseconds since this check was scheduled, and whether the daemon worked in them. */
const sinceLast = (state: GcState): { ms: number; busy: boolean } => {
  const { user, system } = process.cpuUsage(state.last.cpu)
  const at = process.uptime()
  const ms = (at - state.last.at) * 1_000
  state.last = { at, cpu: process.cpuUsage() }
  return { ms, busy: (user + system) / 1_000 > ms * busyShare }
}

const scheduleCheck = (state: GcState, ms: number): void => {
  clearTimeout(state.timer)
  state.checkIsNear = ms === busyCheckMs
  state.waitMs = ms
  state.timer = setTimeout(() => check(state), ms).unref()
}

/** Until everything may be collected, if nothing happens before; nothing or less when it may be now. */
const untilQuiet = ({ quietForMs, notBefore }: GcState): number =>
  Math.max(quietMs - quietForMs, (notBefore - process.uptime()) * 1_000)

const check = (state: GcState): void => {
  state.checkIsNear = false
  const { ms, busy } = sinceLast(state)
  collectBuffers(state)
  const slept = ms > state.waitMs + lateMs
  state.quietForMs = busy || slept ? 0 : state.quietForMs + ms
  if (busy) {
    state.collected = false
    return scheduleCheck(state, busyCheckMs)
  }
  const again = state.collected
  const left = untilQuiet(state)
  // Nobody tells of what a request that goes on does meanwhile.
  if (!again && left > 0) return scheduleCheck(state, state.openRequests > 0 ? quietCheckMs : Math.ceil(left))
  const grown = collectAll(state)
  sinceLast(state)
  state.recheckMs = again ? state.recheckMs * 2 : recheckMs
  state.collected = true
  if (state.openRequests > 0) scheduleCheck(state, openCheckMs)
  else if (grown || !again) scheduleCheck(state, state.recheckMs)
}

const onActivity = (state: GcState): void => {
  state.collected = false
  state.quietForMs = 0
  if (state.checkIsNear) return
  sinceLast(state)
  scheduleCheck(state, busyCheckMs)
}

/** A request has begun; what it returns is to be called at its end. */
const begin = (state: GcState) => (): (() => void) => {
  state.openRequests++
  onActivity(state)
  return () => {
    state.openRequests--
    onActivity(state)
  }
}

/** To be called for each request that node's server does not know; what it returns, at its end. */
export type RequestBegun = () => () => void

export interface IdleGc {
  readonly begun: RequestBegun
  /** Collects everything at once if that was not done since the start: the machine is about to sleep. */
  tidy(): void
}

/**
 * Watches the daemon from each request until it has been quiet. `createCollector` is called once, when it is first needed;
 * everything is collected `firstMs` milliseconds from now at the earliest.
 */
export const startIdleGc = (createCollector: () => Collector, firstMs = startMs): IdleGc => {
  let collector: Collector | undefined
  const state: GcState = {
    collector: () => (collector ??= createCollector()),
    timer: undefined,
    notBefore: process.uptime() + firstMs / 1_000,
    waitMs: 0,
    openRequests: 0,
    buffersInUse: 0,
    quietForMs: 0,
    collected: false,
    heldAfterGc: 0,
    recheckMs,
    checkIsNear: false,
    last: { at: process.uptime(), cpu: process.cpuUsage() },
  }
  const begun = begin(state)
  subscribe('http.server.request.start', message => {
    ;(message as { response: ServerResponse }).response.once('close', begun())
  })
  onActivity(state)
  return { begun, tidy: () => collectFirst(state) }
}
