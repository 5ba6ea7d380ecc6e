/** What a disk of its own costs a sandbox: two servers on one box, one whose sandboxes have them and one whose have directories. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
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

const working = (host: MeasuredHost, text: string) => () =>
  timeOf(() => host.exec('work', `python3 -c 'import os\nos.makedirs("/work", exist_ok=True)${text}'`))

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

export const quotaBench = async (bench: Bench): Promise<Row[]> => {
  const [own, shared] = await Promise.all([
    measuredHost(bench, { HUTCH_DISK_QUOTA: 'on', HUTCH_STANDBY_SECONDS: '3600' }),
    measuredHost(bench, { HUTCH_DISK_QUOTA: 'off', HUTCH_STANDBY_SECONDS: '3600' }),
  ])
  const rows: Row[] = []
  bench.say('create to the first exec, with a disk of its own and without')
  const ways = { own: createToExec(own), shared: createToExec(shared) }
  await inTurns(2, { own: () => ways.own(1_000), shared: () => ways.shared(1_000) })
  const took = await inTurns(creates, ways)
  for (const [name, part] of [
    ['p50', 0.5],
    ['p95', 0.95],
  ] as const)
    rows.push(row(`quota.create-exec.${name}`, percentile(took.own, part), 'ms', percentile(took.shared, part)))
  rows.push(row('quota.empty', (await emptyKb(own)) / 1024, 'MB'))
  for (const host of [own, shared]) await host.create('work', 1_024, 'base')
  for (const [name, text] of Object.entries(workloads)) {
    bench.say(name)
    const tasks = { own: working(own, text), shared: working(shared, text) }
    await inTurns(1, tasks)
    const done = await inTurns(works, tasks)
    rows.push(row(`quota.${name}.p50`, percentile(done.own, 0.5), 'ms', percentile(done.shared, 0.5)))
  }
  await own.remove(['work'])
  await shared.remove(['work'])
  return rows
}
