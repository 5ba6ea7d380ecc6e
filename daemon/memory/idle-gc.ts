/**
 * Collects garbage when the daemon is idle. V8 collects when it allocates, and counts little of what lies outside of its
 * heap: left alone, an upload holds 80 MB of buffers that were read and written long ago, and an idle daemon keeps what
 * a burst of requests left behind for as long as it is idle, which is most of a sandbox's life.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import type { Collector } from '../node-internals/collector.ts'

/** Until the next check: after activity, while nothing happens, and while a request such as a log stream stays open. */
const [busyCheckMs, quietCheckMs, openCheckMs] = [100, 500, 10_000]
/** After so long without work everything is collected. */
const quietMs = 2_000
/** Then once more: what tidies up after work, as the supervisor does every 5 s, leaves garbage too. */
const recheckMs = 6_000
/** Share of a processor above which the daemon counts as working. */
const busyShare = 0.05
/** Bytes of buffers, beyond those known to be in use, that are worth collecting while the daemon works. */
const maxGarbageBufferBytes = 16 * 1024 * 1024
/** Growth that is not worth the milliseconds of collecting everything. */
const minGrowthBytes = 1024 * 1024

interface GcState {
  /** Gives V8's collector; it is made when it is first needed. */
  readonly collector: () => Collector
  timer: NodeJS.Timeout | undefined
  openRequests: number
  /** Bytes of buffers that the last collection left. */
  buffersInUse: number
  quietForMs: number
  /** Everything was collected since the last activity. */
  collected: boolean
  heldAfterGc: number
  recheckMs: number
  /** The next check is as near as can be: activity must not put it off. */
  checkIsNear: boolean
  last: { at: number; cpu: NodeJS.CpuUsage }
}

/** Milliseconds since the last look at the processor, and whether the daemon worked in them. */
const sinceLast = (state: GcState): { ms: number; busy: boolean } => {
  const { user, system } = process.cpuUsage(state.last.cpu)
  const at = process.uptime()
  const ms = (at - state.last.at) * 1_000
  state.last = { at, cpu: process.cpuUsage() }
  return { ms, busy: (user + system) / 1_000 > ms * busyShare }
}

const bufferBytes = (): number => process.memoryUsage().arrayBuffers

/** Collects large buffers even while the daemon works: those that outlive a few checks count as old for V8. */
const collectBuffers = (state: GcState): void => {
  state.buffersInUse = Math.min(state.buffersInUse, bufferBytes())
  if (bufferBytes() <= state.buffersInUse + maxGarbageBufferBytes) return
  state.collector().young()
  if (bufferBytes() > state.buffersInUse + maxGarbageBufferBytes) state.collector().old()
  state.buffersInUse = bufferBytes()
}

/** Collects everything if it is worth it; true when it was. */
const collectAll = (state: GcState): boolean => {
  const collector = state.collector()
  const grown = collector.held() > state.heldAfterGc + minGrowthBytes
  if (grown) collector.all()
  collector.release()
  state.heldAfterGc = collector.held()
  sinceLast(state)
  return grown
}

const scheduleCheck = (state: GcState, ms: number): void => {
  clearTimeout(state.timer)
  state.checkIsNear = ms === busyCheckMs
  state.timer = setTimeout(() => check(state), ms).unref()
}

const check = (state: GcState): void => {
  state.checkIsNear = false
  const { ms, busy } = sinceLast(state)
  collectBuffers(state)
  state.quietForMs = busy ? 0 : state.quietForMs + ms
  if (busy) state.collected = false
  const again = state.collected
  if (!again && state.quietForMs < quietMs) return scheduleCheck(state, busy ? busyCheckMs : quietCheckMs)
  const grown = collectAll(state)
  state.recheckMs = again ? state.recheckMs * 2 : recheckMs
  state.collected = true
  if (state.openRequests > 0) scheduleCheck(state, openCheckMs)
  else if (grown || !again) scheduleCheck(state, state.recheckMs)
}

const onActivity = (state: GcState): void => {
  state.collected = false
  state.quietForMs = 0
  if (!state.checkIsNear) scheduleCheck(state, busyCheckMs)
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

/** Watches the daemon from each request until it has been quiet. `createCollector` is called once, when it is first needed. */
export const startIdleGc = (createCollector: () => Collector): RequestBegun => {
  let collector: Collector | undefined
  const state: GcState = {
    collector: () => (collector ??= createCollector()),
    timer: undefined,
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
  return begun
}
