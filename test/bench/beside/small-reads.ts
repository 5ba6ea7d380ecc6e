/** Small files read one after another on kept connections: how many a second, and what each costs the server's processor. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cpuOf } from '../child.ts'
import { openLoad, type Load } from '../load.ts'
import { inTurns, type Bench } from '../measure.ts'
import { percentile, row, type Row } from '../report.ts'
import type { Contestants } from './contestants.ts'

const rounds = 7
const roundMs = 700

/** One round: requests a second, and microseconds of processor for each. */
const round = async (load: Load, pid: number): Promise<{ rate: number; cpu: number }> => {
  const before = cpuOf(pid)
  const { perSecond, samples } = await load.run(roundMs)
  return { rate: perSecond, cpu: ((cpuOf(pid) - before) * 1000) / samples.length }
}

const compare = async (
  bench: Bench,
  all: Contestants,
  [name, path, connections]: readonly [string, string, number],
): Promise<Row[]> => {
  const costs: Record<string, number[]> = {}
  const tasks: Record<string, () => Promise<number>> = {}
  for (const [who, one] of Object.entries(all)) {
    if (!one) continue
    const load = await openLoad({ port: one.port, path, connections })
    bench.later('connections', load.close)
    await load.run(2 * roundMs)
    const cost: number[] = []
    costs[who] = cost
    tasks[who] = async () => {
      const { rate, cpu } = await round(load, one.pid)
      cost.push(cpu)
      return rate
    }
  }
  const rates = await inTurns(rounds, tasks)
  const middle = (samples: readonly number[] | undefined) => (samples ? percentile(samples, 0.5) : null)
  return ['node', 'go']
    .filter(who => rates[who])
    .flatMap(who => [
      row(`beside.${name}.rate.against-${who}`, middle(rates['ours']) as number, 'req/s', middle(rates[who])),
      row(`beside.${name}.cpu.against-${who}`, middle(costs['ours']) as number, 'µs', middle(costs[who])),
    ])
}

export const smallReads = async (bench: Bench, all: Contestants, dir: string): Promise<Row[]> => {
  writeFileSync(join(dir, 'small.txt'), 'hello world')
  const path = '/filesystem/small.txt'
  return [
    ...(await compare(bench, all, ['small-read', path, 1])),
    ...(await compare(bench, all, ['small-read-8-at-once', path, 8])),
    ...(await compare(bench, { ...all, node: undefined }, ['small-download', `${path}?download=true`, 8])),
  ]
}
