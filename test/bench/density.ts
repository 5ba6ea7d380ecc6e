/**
 * Many sandboxes that sleep: what each costs the box, before and after its memory is put away, what waking costs then, and how many
 * can be made, used and put to sleep a second. The box's own figures count (MemAvailable), so that nothing of it is left out:
 * mounts, links, control groups and the server's records are in them. Other work on the box falls on them, too.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { whyNoMachines } from '../support/machine.ts'
import { measuredHost, type MeasuredHost } from './host-server.ts'
import { timeOf, times, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'
import { hasSwap, makeSwap, type Swap } from './swap.ts'

const megabyte = 1024 * 1024
const atOnce = 8
/** What each has written, half of it random. */
const writtenMb = 20

/** Bytes by a line of /proc/meminfo. */
const memoryOf = (name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024

/** Runs `task` on each, some at a time. */
const each = async (names: readonly string[], task: (name: string) => Promise<void>): Promise<void> => {
  const left = [...names]
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await task(name)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

/** Bytes the box can still give, when nothing moves any more: the most of some looks. */
const available = async (): Promise<number> => {
  const seen: number[] = []
  for (let look = 0; look < 5; look++) {
    await sleep(400)
    seen.push(memoryOf('MemAvailable'))
  }
  return percentile(seen, 0.5)
}

const mounts = (): number => readFileSync('/proc/self/mountinfo', 'utf8').split('\n').length
const links = (): number => readdirSync('/sys/class/net').length

interface Field {
  readonly bench: Bench
  readonly host: MeasuredHost
  readonly names: readonly string[]
  /** MemAvailable before there was any of them. */
  readonly before: number
}

const allAsleep = async ({ host, names }: Field): Promise<void> => {
  for (const name of names) await host.asleep(name)
}

/** A request to one that sleeps beside one to the same when it is awake. */
const wakes = async ({ host, names }: Field, state: string): Promise<Row[]> => {
  const [woken, awake]: [number[], number[]] = [[], []]
  const chosen = names.toSorted(() => Math.random() - 0.5).slice(0, 50)
  for (const name of chosen) {
    await host.asleep(name)
    woken.push(await timeOf(() => host.get(name, '/health')))
    awake.push(...(await times(2, () => host.get(name, '/health'))))
  }
  const usual = percentile(awake, 0.5)
  return [
    row(`density.${state}.wake.p50`, percentile(woken, 0.5) - usual, 'ms'),
    row(`density.${state}.wake.p99`, percentile(woken, 0.99) - usual, 'ms'),
  ]
}

const perSandbox = async ({ host, names, before }: Field, state: string): Promise<Row[]> => [
  row(`density.${state}.memory`, (before - (await available())) / names.length / megabyte, 'MB'),
  // Without the server, the links and the mounts, but also without what else the box does.
  row(`density.${state}.charged`, host.charged() / names.length / megabyte, 'MB'),
]

/** Waits until what sleeps is out of memory: one after the other is put away. */
const putAway = async (field: Field): Promise<void> => {
  await allAsleep(field)
  for (let last = -1, still = 0; still < 3; ) {
    await sleep(1_000)
    const used = memoryOf('SwapTotal') - memoryOf('SwapFree')
    still = Math.abs(used - last) < megabyte ? still + 1 : 0
    last = used
  }
}

const reclaimed = async (field: Field, kind: Swap['kind'], state: string): Promise<Row[]> => {
  const { bench, host, names } = field
  const swap = await makeSwap(bench, kind, 4 * 1024 * megabyte)
  if (!swap) {
    bench.skip(`density.${state}.*`, 'this kernel has no zram')
    return []
  }
  bench.say(`${state}: everything is put away`)
  // They sleep without any swap: the next sleep has one.
  await each(names, async name => void (await host.get(name, '/health')))
  await putAway(field)
  const rows = await perSandbox(field, state)
  if (kind === 'zram') rows.push(row(`density.${state}.zram`, swap.ownBytes() / names.length / megabyte, 'MB'))
  rows.push(...(await wakes(field, state)))
  await each(names, async name => void (await host.get(name, '/health')))
  await swap.remove()
  return rows
}

const bothStates = async (field: Field, suffix: string): Promise<Row[]> => {
  await allAsleep(field)
  await sleep(1_000)
  const rows = [...(await perSandbox(field, `asleep${suffix}`)), ...(await wakes(field, `asleep${suffix}`))]
  for (const kind of ['zram', 'file'] as const) rows.push(...(await reclaimed(field, kind, `${kind}${suffix}`)))
  return rows
}

/** Where they sleep as soon as they may. */
const sustained = async (bench: Bench): Promise<Row[]> => {
  bench.say('create, exec, sleep')
  const host = await measuredHost(bench, { HUTCH_STANDBY_SECONDS: '0.05' })
  const names = Array.from({ length: 48 }, (_, index) => `soon-${index}`)
  const took = await timeOf(() =>
    each(names, async name => {
      await host.create(name)
      await host.exec(name, 'true')
      await host.asleep(name)
    }),
  )
  await each(names, name => host.remove([name]))
  return [row('density.create-exec-sleep', names.length / (took / 1_000), '/s')]
}

const create = async (field: Field): Promise<Row[]> => {
  const { bench, host, names } = field
  bench.say(`${names.length} sandboxes are made and used once`)
  const before = { mounts: mounts(), links: links() }
  await each(names, async name => {
    await host.create(name)
    await host.exec(name, 'true')
  })
  return [
    row('density.mounts', (mounts() - before.mounts) / names.length, 'each'),
    row('density.links', (links() - before.links) / names.length, 'each'),
  ]
}

export const densityBench = async (bench: Bench, count = 60): Promise<Row[]> => {
  const why =
    whyNoMachines() ?? (hasSwap() ? 'a box without swap: both states are measured on the same sandboxes' : undefined)
  if (why) {
    bench.skip('density.*', why)
    return []
  }
  const host = await measuredHost(bench, { HUTCH_STANDBY_SECONDS: '5', HUTCH_RECLAIM_SECONDS: '0.5' })
  await host.create('first')
  await host.exec('first', 'true')
  await host.remove(['first'])
  const names = Array.from({ length: count }, (_, index) => `dense-${index}`)
  const field: Field = { bench, host, names, before: await available() }
  const rows = [...(await sustained(bench)), ...(await create(field))]
  rows.push(...(await bothStates(field, '')))
  const server = host.server()
  rows.push(
    row('density.server.memory', server.bytes / megabyte, 'MB'),
    row('density.server.own', server.own / megabyte, 'MB'),
  )
  bench.say(`each writes ${writtenMb} MB`)
  const half = (writtenMb / 2) * megabyte
  await each(names, name =>
    host.exec(name, `head -c ${half} /dev/urandom > /dev/shm/random; head -c ${half} /dev/zero > /dev/shm/zeros`),
  )
  rows.push(...(await bothStates(field, '.written')))
  bench.say('all are removed')
  rows.push(row('density.remove', (await timeOf(() => each(names, name => host.remove([name])))) / count, 'ms each'))
  rows.push(row('density.left', (field.before - (await available())) / count / megabyte, 'MB'))
  return rows
}
