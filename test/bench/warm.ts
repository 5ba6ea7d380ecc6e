/** Machines made ahead of need: what a sandbox that is given one takes to its first command, one after another and all at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { whyNoMachines } from '../support/machine.ts'
import { docker } from './docker.ts'
import { burst } from './host.ts'
import { image, imageRoot, measuredHost, type MeasuredHost } from './host-server.ts'
import { inTurns, timeOf, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'

const poolSize = 100
/** As a host keeps it for an image that is used now and then. */
const smallSize = 4
const rounds = 60

/** Waits until so many are ready. */
export const filled = async (host: MeasuredHost, count: number): Promise<void> => {
  const headers = { authorization: `Bearer ${host.key}` }
  for (const end = performance.now() + 300_000; ; await sleep(50)) {
    const answer = await fetch(`${host.url}/v0/warm-pools`, { headers })
    const { pools } = (await answer.json()) as { pools: { ready: number }[] }
    if ((pools[0]?.ready ?? 0) >= count) return
    if (performance.now() > end)
      throw new Error(`the pool has ${pools[0]?.ready} of ${count} machines after five minutes`)
  }
}

const toFirst = (host: MeasuredHost, prefix: string) => async (round: number) => {
  const name = `${prefix}-${round}`
  const took = await timeOf(async () => {
    await host.create(name)
    await host.exec(name, 'true')
  })
  await host.remove([name])
  return took
}

/** From a pool that has so many at least. */
const given = (host: MeasuredHost, prefix: string, least: number) => {
  const claim = toFirst(host, prefix)
  return async (round: number) => {
    await filled(host, least)
    return claim(round)
  }
}

const compared = (name: string, took: readonly number[], made: readonly number[]): Row[] =>
  (['p50', 'p99'] as const).map((which, at) => {
    const share = at === 0 ? 0.5 : 0.99
    return row(`${name}.${which}`, percentile(took, share), 'ms', percentile(made, share))
  })

/** By itself: no other machines lie on the box, and the one that takes the last one's place is there. */
const fromSmall = async (bench: Bench, host: MeasuredHost, cold: MeasuredHost): Promise<Row[]> => {
  const engine = await docker(bench, await imageRoot())
  const ways = {
    given: given(host, 'small', smallSize),
    made: toFirst(cold, 'alone'),
    theirs: () => (engine ? timeOf(engine.runTrue) : Promise.resolve(Number.NaN)),
  }
  await inTurns(2, { given: () => ways.given(1_000), made: () => ways.made(1_000), theirs: ways.theirs })
  const { given: took, made, theirs } = await inTurns(rounds, ways)
  const name = `warm.create-exec-of-${smallSize}`
  const against = () => row(`${name}.against-docker.p50`, percentile(took, 0.5), 'ms', percentile(theirs, 0.5))
  return [...compared(name, took, made), ...(engine ? [against()] : [])]
}

export const warmBench = async (bench: Bench): Promise<Row[]> => {
  const why = whyNoMachines()
  if (why) {
    bench.skip('warm.*', why)
    return []
  }
  const pooled = (of: string, size: number) => measuredHost(bench, { HUTCH_WARM: `${of}=${size}` })
  const cold = await measuredHost(bench)
  bench.say(`create to the first exec, from a pool of ${smallSize} that is full, and without`)
  const small = await fromSmall(bench, await pooled(image, smallSize), cold)
  bench.say(`filling two pools of ${poolSize}, of the image and of none`)
  const [warm, any] = [await pooled(image, poolSize), await pooled('*', poolSize)]
  for (const host of [warm, any]) await filled(host, poolSize)
  bench.say('create to the first exec, from the pools and without')
  const half = poolSize / 2
  const ways = { given: given(warm, 'claim', half), generic: given(any, 'generic', half), made: toFirst(cold, 'cold') }
  await inTurns(2, { given: () => ways.given(1_000), generic: () => ways.generic(1_000), made: () => ways.made(1_000) })
  const { given: took, generic, made } = await inTurns(rounds, ways)
  const rows = [
    ...small,
    ...compared('warm.create-exec', took, made),
    ...compared('any-image.create-exec', generic, made),
  ]
  for (const [host, name] of [
    [warm, 'warm'],
    [any, 'any-image'],
  ] as const) {
    await filled(host, poolSize)
    rows.push(...(await burst(bench, host, poolSize, name)))
  }
  return rows
}
