/** What is collected when the daemon is idle, and when it is worth it. */
import type { Collector } from '../node-internals/collector.ts'

/** Bytes of buffers, beyond those known to be in use, that are worth collecting while the daemon works. */
const maxGarbageBufferBytes = 16 * 1024 * 1024
/** Growth that is not worth the milliseconds of collecting everything. */
const minGrowthBytes = 1024 * 1024

export interface Collected {
  /** Gives V8's collector; it is made when it is first needed. */
  readonly collector: () => Collector
  /** Bytes of buffers that the last collection left. */
  buffersInUse: number
  heldAfterGc: number
}

const bufferBytes = (): number => process.memoryUsage().arrayBuffers

/** Collects large buffers even while the daemon works: those that outlive a few checks count as old for V8. */
export const collectBuffers = (state: Collected): void => {
  state.buffersInUse = Math.min(state.buffersInUse, bufferBytes())
  if (bufferBytes() <= state.buffersInUse + maxGarbageBufferBytes) return
  state.collector().young()
  if (bufferBytes() > state.buffersInUse + maxGarbageBufferBytes) state.collector().old()
  state.buffersInUse = bufferBytes()
}

/** Collects everything if it is worth it; true when it was. */
export const collectAll = (state: Collected): boolean => {
  const collector = state.collector()
  const grown = collector.held() > state.heldAfterGc + minGrowthBytes
  if (grown) collector.all()
  collector.release()
  state.heldAfterGc = collector.held()
  return grown
}

/** Collects everything if that was not done yet. */
export const collectFirst = (state: Collected): void => {
  if (state.heldAfterGc === 0) collectAll(state)
}
