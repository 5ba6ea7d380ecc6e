/** Ways to one upstream that are asked by turns: what a request takes on each, and what it costs who works for it. */
import { cpuOf } from './child.ts'
import type { Load } from './load.ts'

/** Rounds of half a second each. */
const rounds = 6
export const roundMs = 500

export interface Way {
  readonly load: Load
  /** Who works for it; undefined for the straight way. */
  readonly pid: number | undefined
  readonly samples: number[]
  requests: number
  cpuMs: number
}

export const newWay = (load: Load, pid: number | undefined): Way => ({ load, pid, samples: [], requests: 0, cpuMs: 0 })

const runWay = async (way: Way): Promise<void> => {
  const before = way.pid === undefined ? 0 : cpuOf(way.pid)
  const { samples } = await way.load.run(roundMs)
  way.cpuMs += way.pid === undefined ? 0 : cpuOf(way.pid) - before
  way.requests += samples.length
  for (const sample of samples) way.samples.push(sample)
}

/** Asks all of them, each first as often as the others, and closes their connections. */
export const askInTurns = async (all: readonly Way[]): Promise<void> => {
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < all.length; turn++) await runWay(all[(round + turn) % all.length] as Way)
  for (const { load } of all) load.close()
}

/** Requests a second of processor. */
export const perCore = ({ requests, cpuMs }: Way): number => requests / (cpuMs / 1000)
