/** The bill held against what was seen: of what ran, slept and was killed. */
import Database from 'better-sqlite3'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isFrozen } from '../../../control/drivers/oci/cgroup/freezer.ts'
import type { Hierarchy } from '../../../control/drivers/oci/cgroup/hierarchy.ts'
import type { Interval } from '../../../control/core/store/store.ts'
import { withStore } from '../bill.ts'
import { machinesOn } from './killer.ts'
import type { Span, World } from './world.ts'

/** What a crash can lose, ms: `checkpoints.ts`; and how long it may take to find out that a machine is no more. */
const checkpointMs = 60_000
const noticedMs = 30_000
/** From a state to its being written down, on a busy box, ms. */
const leewayMs = 1_500

const runs = 'sandbox_compute_runtime_gbs'

/** Of all there ever was, from the tables. */
export const wholeBill = async (dataDir: string): Promise<Interval[]> => {
  const db = new Database(join(dataDir, 'hutch.db'), { readonly: true })
  const uids = db.prepare('select distinct uid from subjects').pluck().all() as string[]
  db.close()
  return withStore(dataDir, async store => (await Promise.all(uids.map(uid => store.meter.intervals(uid)))).flat())
}

const overlap = (one: Span, other: Span): boolean => one.from <= other.to && other.from <= one.to

/** Commands that were answered by sandboxes that, by the bill, did not run then, and were not lost soon after. */
export const unbilled = (world: World, bill: readonly Interval[]): string[] => {
  const compute = Map.groupBy(
    bill.filter(({ dimension }) => dimension === runs),
    ({ resourceName }) => resourceName,
  )
  return world.used.flatMap(({ name, from, to }) => {
    const own = compute.get(name) ?? []
    if (own.some(one => overlap({ from: one.from, to: one.to ?? Infinity }, { from, to }))) return []
    const uids = new Set(own.map(({ uid }) => uid))
    const lost = world.struck.some(
      ({ id, at }) => uids.has(id) && at >= from - noticedMs && at <= to + checkpointMs + leewayMs,
    )
    return lost
      ? []
      : [`${name} ran at ${from} to ${to}; its bill is ${JSON.stringify(own.map(one => [one.from, one.to]))}`]
  })
}

/** Looks every quarter of a second which machines are frozen; what it returns ends that and gives the spans by id. */
export const watchSleep = (hierarchy: Hierarchy, cgroup: string): (() => Promise<Map<string, Span[]>>) => {
  const spans = new Map<string, Span[]>()
  const open = new Map<string, Span>()
  let stopped = false
  const close = (id: string) => {
    const span = open.get(id)
    if (span) spans.set(id, [...(spans.get(id) ?? []), span])
    open.delete(id)
  }
  const look = async () => {
    const ids = [...(await machinesOn(hierarchy, cgroup)).keys()]
    for (const id of open.keys()) if (!ids.includes(id)) close(id)
    for (const id of ids) {
      const isAsleep = await isFrozen(hierarchy, join(cgroup, id))
      const now = Date.now()
      if (isAsleep) open.set(id, { from: open.get(id)?.from ?? now, to: now })
      else close(id)
    }
  }
  const watching = (async () => {
    for (; !stopped; await sleep(250)) await look()
  })()
  return async () => {
    stopped = true
    await watching
    for (const id of open.keys()) close(id)
    return spans
  }
}

/** What is left of a span without those windows, and what is close to them. */
const without = (span: Span, windows: readonly Span[]): Span[] =>
  windows.reduce<Span[]>(
    (parts, window) =>
      parts
        .flatMap(({ from, to }) => [
          { from, to: Math.min(to, window.from - leewayMs) },
          { from: Math.max(from, window.to + leewayMs), to },
        ])
        .filter(({ from, to }) => from < to),
    [span],
  )

/** Parts of sleeps, by the machine's id, in which it slept beyond doubt while the server served and nobody copied. */
export const sureSleeps = (
  { down, copying }: Pick<World, 'down' | 'copying'>,
  slept: ReadonlyMap<string, readonly Span[]>,
): readonly (Span & { readonly id: string })[] =>
  [...slept].flatMap(([id, spans]) =>
    spans
      .map(({ from, to }) => ({ from: from + leewayMs, to: to - leewayMs }))
      .filter(({ from, to }) => from < to)
      .flatMap(sure => without(sure, [...down, ...copying]))
      .map(part => ({ id, ...part })),
  )

/** Those that are on the bill as running. */
export const billedAsleep = (sleeps: ReturnType<typeof sureSleeps>, bill: readonly Interval[]): string[] =>
  sleeps.flatMap(({ id, from, to }) =>
    bill
      .filter(one => one.uid === id && one.dimension === runs)
      .filter(one => overlap({ from: one.from, to: one.to ?? Infinity }, { from, to }))
      .map(one => `${id} slept from ${from} to ${to} and is billed from ${one.from} to ${one.to}`),
  )
