/**
 * Many sandboxes that sleep: what each costs the box, before and after its memory is put away, what waking costs then, and how many
 * can be made, used and put to sleep a second. The box's own figures count (MemAvailable), so that nothing of it is left out:
 * mounts, links, control groups and the server's records are in them. Other work on the box falls on them, too.
 * As many as fit into memory sleep in it first; the others are made when there is compressed memory to put them away to.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { whyNoMachines } from '../support/machine.ts'
import { available, links, memoryOf, mounts } from './box.ts'
import { measuredHost, type MeasuredHost } from './host-server.ts'
import { timeOf, times, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'
import { hasSwap, makeSwap, type Swap } from './swap.ts'

const megabyte = 1024 * 1024
const atOnce = 8
/** What each has written, half of it random. */
const writtenMb = 20
/** So many are measured in every state: awake and with what they have written, they fit into the memory of a small box. */
const inMemory = 300
/** Of a disk, which the box promises each. */
const storageMb = 24
/** The first and the last of so many are compared: what a sandbox costs must not grow with their number. */
const window = 50

/** Runs `task` on each, some at a time. */
const each = async (names: readonly string[], task: (name: string) => Promise<void>): Promise<void> => {
  const left = [...names]
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await task(name)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

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
  const swap = await makeSwap(bench, kind, Math.max(4_096, (writtenMb + 24) * names.length) * megabyte)
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

/** Makes each and uses it once; what that took, and of the server's processor. */
const make = async ({ host }: Field, names: readonly string[]): Promise<{ ms: number; cpuMs: number }> => {
  const before = host.server().cpuMs
  const took: number[] = []
  await each(names, async name => {
    took.push(
      await timeOf(async () => {
        await host.create(name, 256, undefined, storageMb)
        await host.exec(name, 'true')
      }),
    )
  })
  return { ms: percentile(took, 0.5), cpuMs: (host.server().cpuMs - before) / names.length }
}

const madeRows = (part: string, { ms, cpuMs }: { ms: number; cpuMs: number }): Row[] => [
  row(`density.create.${part}.p50`, ms, 'ms'),
  row(`density.create.${part}.server`, cpuMs, 'ms of processor'),
]

const create = async (field: Field): Promise<Row[]> => {
  const { bench, names } = field
  bench.say(`${names.length} sandboxes are made and used once`)
  const before = { mounts: mounts(), links: links() }
  const first = await make(field, names.slice(0, window))
  await make(field, names.slice(window))
  return [
    ...madeRows(`first-${window}`, first),
    row('density.mounts', (mounts() - before.mounts) / names.length, 'each'),
    row('density.links', (links() - before.links) / names.length, 'each'),
  ]
}

/** What the server does and holds while all sleep. */
const atRest = async ({ bench, host, names }: Field): Promise<Row[]> => {
  bench.say('the server rests')
  // Its own garbage is collected when it has had little to do.
  await sleep(12_000)
  const before = host.server()
  await sleep(10_000)
  const { bytes, own, cpuMs } = host.server()
  return [
    row(`density.${names.length}.server.memory`, bytes / megabyte, 'MB'),
    row(`density.${names.length}.server.own`, own / megabyte, 'MB'),
    row(`density.${names.length}.server.idle`, (cpuMs - before.cpuMs) / 10, 'ms of processor a second'),
  ]
}

/** Those that only fit beside each other when they are put away. */
const theRest = async (field: Field, more: readonly string[]): Promise<Row[]> => {
  const { bench, host } = field
  const all: Field = { ...field, names: [...field.names, ...more] }
  const swap = await makeSwap(bench, 'zram', 24 * all.names.length * megabyte)
  if (!swap) {
    bench.skip('density.all.*', 'this kernel has no zram')
    return []
  }
  bench.say(`${more.length} more, with compressed memory`)
  await each(field.names, async name => void (await host.get(name, '/health')))
  await make(all, more.slice(0, -window))
  const last = await make(all, more.slice(-window))
  await putAway(all)
  const rows = [...madeRows(`last-${window}`, last), ...(await perSandbox(all, 'all'))]
  rows.push(row('density.all.zram', swap.ownBytes() / all.names.length / megabyte, 'MB'), ...(await wakes(all, 'all')))
  await allAsleep(all)
  rows.push(...(await atRest(all)))
  bench.say('the others are removed')
  rows.push(
    row('density.all.remove', (await timeOf(() => each(more, name => host.remove([name])))) / more.length, 'ms each'),
  )
  await each(field.names, async name => void (await host.get(name, '/health')))
  await swap.remove()
  return rows
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
  const names = Array.from({ length: Math.min(count, inMemory) }, (_, index) => `dense-${index}`)
  const more = Array.from({ length: count - names.length }, (_, index) => `dense-${names.length + index}`)
  const field: Field = { bench, host, names, before: await available() }
  const rows: Row[] = []
  // Each when it is known: the whole takes long.
  const tell = (found: readonly Row[]) => {
    rows.push(...found)
    bench.say(found.map(({ name, value, unit }) => `${name} ${value} ${unit}`).join('; '))
  }
  tell(await sustained(bench))
  tell(await create(field))
  tell(await bothStates(field, ''))
  await allAsleep(field)
  tell(await atRest(field))
  if (more.length > 0) tell(await theRest(field, more))
  bench.say(`each writes ${writtenMb} MB`)
  const half = (writtenMb / 2) * megabyte
  await each(names, name =>
    host.exec(name, `head -c ${half} /dev/urandom > /dev/shm/random; head -c ${half} /dev/zero > /dev/shm/zeros`),
  )
  tell(await bothStates(field, '.written'))
  bench.say('all are removed')
  rows.push(
    row('density.remove', (await timeOf(() => each(names, name => host.remove([name])))) / names.length, 'ms each'),
  )
  rows.push(row('density.left', (field.before - (await available())) / names.length / megabyte, 'MB'))
  return rows
}
