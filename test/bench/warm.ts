/** Machines made ahead of need: what a sandbox that is given one takes to its first command, one after another and all at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { whyNoMachines } from '../support/machine.ts'
import { burst } from './host.ts'
import { image, measuredHost, type MeasuredHost } from './host-server.ts'
import { inTurns, timeOf, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'

const poolSize = 100
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

export const warmBench = async (bench: Bench): Promise<Row[]> => {
  const why = whyNoMachines()
  if (why) {
    bench.skip('warm.*', why)
    return []
  }
  bench.say(`filling a pool of ${poolSize}`)
  const [warm, cold] = [await measuredHost(bench, { HUTCH_WARM: `${image}=${poolSize}` }), await measuredHost(bench)]
  await filled(warm, poolSize)
  bench.say('create to the first exec, from the pool and without')
  const claim = toFirst(warm, 'claim')
  const given = async (round: number) => {
    await filled(warm, poolSize / 2)
    return claim(round)
  }
  const ways = { given, made: toFirst(cold, 'cold') }
  await inTurns(2, { given: () => given(1_000), made: () => ways.made(1_000) })
  const { given: took, made } = await inTurns(rounds, ways)
  await filled(warm, poolSize)
  const bursts = await burst(bench, warm, poolSize, 'warm')
  const p50 = percentile(took, 0.5)
  return [
    row('warm.create-exec.p50', p50, 'ms', percentile(made, 0.5)),
    row('warm.create-exec.p99', percentile(took, 0.99), 'ms', percentile(made, 0.99)),
    ...bursts,
  ]
}
