/**
 * Time to interactive as public leaderboards measure it: from the create of a sandbox to the answer of its first `node -v`. A
 * hundred one after another, a hundred begun every 200 ms, a hundred at once; from a pool of as many, and without one.
 */
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { whyNoMachines } from '../support/machine.ts'
import { measuredHost, type MeasuredHost } from './host-server.ts'
import { timeOf, times, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'
import { filled } from './warm.ts'

const count = 100
const betweenMs = 200
/** With Node in it. */
const image = 'base'
/** A hundred promises of half the memory are more than many disks have. */
const storageMb = 128
const memoryMb = 2_048

/** Milliseconds of those that succeeded. */
type Way = (one: (at: number) => Promise<number | undefined>) => Promise<(number | undefined)[]>

const indices = Array.from({ length: count }, (_, at) => at)

const ways: Readonly<Record<string, Way>> = {
  async sequential(one) {
    const samples: (number | undefined)[] = []
    for (const at of indices) samples.push(await one(at))
    return samples
  },
  staggered: one => Promise.all(indices.map(async at => sleep(at * betweenMs).then(() => one(at)))),
  'at-once': one => Promise.all(indices.map(one)),
}

interface Measured {
  readonly host: MeasuredHost
  readonly name: string
  readonly floor: number
  /** Resolves when the pool is full, where there is one. */
  readonly ready: () => Promise<void>
}

const measure = async (bench: Bench, { host, name, floor, ready }: Measured, way: string): Promise<Row[]> => {
  bench.say(`${name}: ${way}`)
  const made: string[] = []
  const failures: string[] = []
  const one = async (at: number): Promise<number | undefined> => {
    const sandbox = `tti-${way}-${at}`
    try {
      return await timeOf(async () => {
        await host.create(sandbox, memoryMb, image, storageMb)
        made.push(sandbox)
        await host.exec(sandbox, 'node -v')
      })
    } catch (error) {
      failures.push(String(error))
      return undefined
    }
  }
  await ready()
  const samples = ((await ways[way]?.(one)) ?? []).filter(sample => sample !== undefined)
  if (failures[0]) bench.say(`${failures.length} failed, the first with ${failures[0]}`)
  await host.remove(made)
  const label = `tti.${name}.${way}`
  return [
    row(`${label}.succeeded`, (samples.length / count) * 100, '%'),
    row(`${label}.p50`, percentile(samples, 0.5), 'ms', floor),
    row(`${label}.p95`, percentile(samples, 0.95), 'ms', floor),
    row(`${label}.p99`, percentile(samples, 0.99), 'ms', floor),
  ]
}

export const ttiBench = async (bench: Bench): Promise<Row[]> => {
  const why = whyNoMachines()
  if (why) {
    bench.skip('tti.*', why)
    return []
  }
  const bare = promisify(execFile)
  const floor = percentile(await times(20, () => bare(process.execPath, ['-v'])), 0.5)
  const rows: Row[] = [row('tti.node-v.p50', floor, 'ms')]
  for (const name of ['pool', 'no-pool']) {
    const host = await measuredHost(bench, name === 'pool' ? { HUTCH_WARM: `${image}=${count}` } : {})
    const ready = async () => (name === 'pool' ? filled(host, count) : undefined)
    await host.create('first', memoryMb, image, storageMb)
    await host.exec('first', 'node -v')
    await host.remove(['first'])
    for (const way of Object.keys(ways)) rows.push(...(await measure(bench, { host, name, floor, ready }, way)))
  }
  return rows
}
