/**
 * What a disk of its own costs a sandbox: two servers on one box, one whose sandboxes have them and one whose have directories; and the same
 * where both are on a file system with a journal, whatever the box's has.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { journalledDisk } from './journalled-disk.ts'
import { measuredHost, type MeasuredHost } from './host-server.ts'
import { inTurns, timeOf, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'

const creates = 25
const works = 15

/** Milliseconds from the create to the result of the first command. */
const createToExec = (host: MeasuredHost) => async (round: number) => {
  const name = `quota-${round}`
  const took = await timeOf(async () => {
    await host.create(name)
    await host.exec(name, 'true')
  })
  await host.remove([name])
  return took
}

/** Each keeps a disk busy for some hundred milliseconds, so that the start of its interpreter is little of it. */
const workloads = {
  /** A log, as a database writes it. */
  fsync: `
f = os.open("/work/log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
for i in range(200): os.write(f, b"y" * 4096); os.fsync(f)`,
  /** A tree of packages comes and goes. */
  'small-files': `
for i in range(3000):
    if i % 100 == 0: os.mkdir(f"/work/{i}")
    with open(f"/work/{i // 100 * 100}/{i}", "wb") as f: f.write(b"x" * 4096)
f = os.open("/work/log", os.O_CREAT | os.O_WRONLY); os.fsync(f)
import shutil
for name in os.listdir("/work"):
    if name != "log": shutil.rmtree("/work/" + name)`,
  /** A large file, all of it on the disk. */
  'large-file': `
f = os.open("/work/large", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
for i in range(100): os.write(f, b"z" * 1048576)
os.fsync(f); os.close(f); os.unlink("/work/large")`,
} as const

type Workload = keyof typeof workloads
type Task = (round: number) => Promise<number>

const working = (host: MeasuredHost, name: string, text: string) => () =>
  timeOf(() => host.exec(name, `python3 -c 'import os\nos.makedirs("/work", exist_ok=True)${text}'`))

/** Kilobytes that the one disk has of the box's. */
const emptyKb = async (host: MeasuredHost): Promise<number> => {
  await host.create('empty')
  await host.exec('empty', 'true')
  const machines = join(host.dataDir, 'machines')
  const [id = ''] = readdirSync(machines)
  const { blocks } = statSync(join(machines, id, 'disk.img'))
  await host.remove(['empty'])
  return blocks / 2
}

interface Pair {
  readonly own: MeasuredHost
  readonly shared: MeasuredHost
}

/** Servers whose sandboxes have disks of their own, and such whose have directories. */
const pairOf = async (bench: Bench, env: Record<string, string> = {}): Promise<Pair> => {
  const [own, shared] = await Promise.all(
    ['on', 'off'].map(quota => measuredHost(bench, { HUTCH_DISK_QUOTA: quota, HUTCH_STANDBY_SECONDS: '3600', ...env })),
  )
  return { own, shared } as Pair
}

/** Milliseconds of a log's first 200 records in a sandbox that was just made. */
const firstFsyncs = (host: MeasuredHost) => async (round: number) => {
  const name = `new-${round}`
  await host.create(name, 1_024, 'base')
  await host.exec(name, 'true')
  const took = await working(host, name, workloads.fsync)()
  await host.remove([name])
  return took
}

const created = async ({ own, shared }: Pair): Promise<Row[]> => {
  const ways = { own: createToExec(own), shared: createToExec(shared) }
  await inTurns(2, { own: () => ways.own(1_000), shared: () => ways.shared(1_000) })
  const took = await inTurns(creates, ways)
  return Object.entries({ p50: 0.5, p95: 0.95 }).map(([name, part]) =>
    row(`quota.create-exec.${name}`, percentile(took.own, part), 'ms', percentile(took.shared, part)),
  )
}

const medians = async (name: string, { own, shared }: Record<'own' | 'shared', Task>, rounds: number): Promise<Row> => {
  await inTurns(1, { own: () => own(rounds), shared: () => shared(rounds) })
  const done = await inTurns(rounds, { own, shared })
  return row(`quota.${name}.p50`, percentile(done.own, 0.5), 'ms', percentile(done.shared, 0.5))
}

/** Each of `names` in a sandbox that has done the same before. */
const worked = async (bench: Bench, pair: Pair, names: readonly Workload[], prefix = ''): Promise<Row[]> => {
  const rows: Row[] = []
  const hosts = Object.values(pair)
  for (const host of hosts) await host.create('work', 1_024, 'base')
  for (const name of names) {
    bench.say(`${prefix}${name}`)
    const text = workloads[name]
    const tasks = { own: working(pair.own, 'work', text), shared: working(pair.shared, 'work', text) }
    rows.push(await medians(`${prefix}${name}`, tasks, works))
  }
  for (const host of hosts) await host.remove(['work'])
  bench.say(`${prefix}fsync in a new sandbox`)
  const tasks = { own: firstFsyncs(pair.own), shared: firstFsyncs(pair.shared) }
  rows.push(await medians(`${prefix}first-fsync`, tasks, works))
  return rows
}

export const quotaBench = async (bench: Bench): Promise<Row[]> => {
  const pair = await pairOf(bench)
  bench.say('create to the first exec, with a disk of its own and without')
  const rows = await created(pair)
  rows.push(row('quota.empty', (await emptyKb(pair.own)) / 1024, 'MB'))
  rows.push(...(await worked(bench, pair, Object.keys(workloads) as Workload[])))
  const journalled = await pairOf(bench, { TMPDIR: journalledDisk(bench) })
  rows.push(...(await worked(bench, journalled, ['fsync'], 'journalled.')))
  return rows
}
