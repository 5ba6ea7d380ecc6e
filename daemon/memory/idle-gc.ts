/**
 * Gives memory back. V8 collects when it allocates, and counts little of what lies outside of its heap: left alone, an
 * upload holds 80 MB of buffers that were read and written long ago, and a daemon that is idle keeps what a burst of
 * requests left behind, as long as it is idle, which a sandbox is most of its life.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import type { Collector } from '../node-internals/collector.ts'

const busyMs = 100
const waitMs = 500
/** While nothing happens but a request is open, such as a stream of logs. */
const openMs = 10_000
/** After so long without work everything is collected. */
const quietMs = 2_000
/** What is tidied up after work, as the supervisor does every 5 s, leaves something behind as well. */
const afterwardsMs = 6_000
/** Share of a processor above which the daemon works. */
const busyShare = 0.05
/** Bytes of buffers, beyond those known to be in use, from which on they are worth collecting. */
const muchBytes = 16 * 1024 * 1024
/** Bytes that are not worth the milliseconds of collecting everything. */
const littleBytes = 1024 * 1024

/** Watches the daemon from each request until it has been quiet; `collector` gives V8's own, when it is first needed. */
export const startIdleGc = (collector: () => Collector): void => {
  let collecting: Collector | undefined
  const collect = (): Collector => (collecting ??= collector())
  let timer: NodeJS.Timeout | undefined
  let open = 0
  let inUse = 0
  let quiet = 0
  let done = false
  /** What was held after everything had been collected. */
  let least = 0
  let pauseMs = afterwardsMs
  /** The next look is as near as it can be, and must not be put off by the next request. */
  let soon = false
  let before = { at: process.uptime(), cpu: process.cpuUsage() }

  /** Milliseconds since the last look, and whether the daemon worked in them. */
  const sinceLast = (): { ms: number; busy: boolean } => {
    const { user, system } = process.cpuUsage(before.cpu)
    const at = process.uptime()
    const ms = (at - before.at) * 1_000
    before = { at, cpu: process.cpuUsage() }
    return { ms, busy: (user + system) / 1_000 > ms * busyShare }
  }
  const buffers = (): number => process.memoryUsage().arrayBuffers
  /** Buffers that outlive a few looks count as old, although they are as short-lived as the others. */
  const ease = (): void => {
    inUse = Math.min(inUse, buffers())
    if (buffers() <= inUse + muchBytes) return
    collect().young()
    if (buffers() > inUse + muchBytes) collect().old()
    inUse = buffers()
  }
  /** Whether there was something to collect. */
  const settle = (): boolean => {
    const grown = collect().held() > least + littleBytes
    if (grown) collect().all()
    collect().release()
    least = collect().held()
    sinceLast()
    return grown
  }
  const next = (ms: number): void => {
    clearTimeout(timer)
    soon = ms === busyMs
    timer = setTimeout(look, ms).unref()
  }
  const look = (): void => {
    soon = false
    const { ms, busy } = sinceLast()
    ease()
    quiet = busy ? 0 : quiet + ms
    if (busy) done = false
    const again = done
    if (done || quiet >= quietMs) {
      const grown = settle()
      pauseMs = again ? pauseMs * 2 : afterwardsMs
      done = true
      if (open > 0) next(openMs)
      else if (grown || !again) next(pauseMs)
    } else next(busy ? busyMs : waitMs)
  }
  const wake = (): void => {
    done = false
    quiet = 0
    if (!soon) next(busyMs)
  }
  subscribe('http.server.request.start', message => {
    open++
    ;(message as { response: ServerResponse }).response.once('close', () => {
      open--
      wake()
    })
    wake()
  })
  wake()
}
