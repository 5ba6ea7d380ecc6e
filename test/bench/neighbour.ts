/**
 * What a quiet sandbox still gets while its neighbour takes all he can: the same calls with and without the noise, by turns. The
 * neighbour has four times its memory, and so four times its processors. The floor of each figure is the quiet one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { whyNoMachines } from '../support/machine.ts'
import { measuredHost, type MeasuredHost } from './host-server.ts'
import { timeOf, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'
import { viewRows } from './views.ts'

const quiet = { name: 'quiet', memoryMb: 1_024 }
const loud = { name: 'loud', memoryMb: 4_096 }
const rounds = 2
const samples = 9
/** Read by the quiet one, through the gateway. */
const fileMb = 4

const forever = (line: string): string => `while :; do ${line}; done`
const times = (count: number, line: string): string => `for i in $(seq ${count}); do ${forever(line)} & done; wait`

/** Shell lines of the neighbour, each of which goes on until he is gone. */
const noises: Readonly<Record<string, string>> = {
  cpu: times(8, ':'),
  forks: times(32, '/bin/true'),
  processes: forever('sleep 1000 &'),
  memory: times(2, 'head -c 3000000000 /dev/zero | tail'),
  disk: times(2, 'dd if=/dev/zero of=/noise.$i bs=1M count=256 conv=fsync'),
  connections: times(64, 'nc -w 1 192.0.2.1 9'),
  proc: times(8, 'cat /proc/meminfo /proc/stat /proc/loadavg /proc/cpuinfo'),
}

interface Taken {
  readonly exec: number[]
  readonly read: number[]
  /** Calls that were answered by an error; their time counts like that of others. */
  failed: number
}

/** Milliseconds until the answer, whatever it was. */
const answered = (taken: Taken, call: () => Promise<unknown>): Promise<number> =>
  timeOf(() =>
    call().catch(() => {
      taken.failed++
    }),
  )

const take = async (host: MeasuredHost, taken: Taken): Promise<void> => {
  for (let sample = 0; sample < samples; sample++) {
    taken.exec.push(await answered(taken, () => host.exec(quiet.name, 'true')))
    if (sample % 3 === 0) taken.read.push(await answered(taken, () => host.get(quiet.name, '/filesystem/file')))
  }
}

const under = async (bench: Bench, host: MeasuredHost, kind: string, noise: string): Promise<Row[]> => {
  bench.say(kind)
  const [alone, beside]: [Taken, Taken] = [
    { exec: [], read: [], failed: 0 },
    { exec: [], read: [], failed: 0 },
  ]
  for (let round = 0; round < rounds; round++) {
    await take(host, alone)
    const name = `${loud.name}-${kind}-${round}`
    await host.create(name, loud.memoryMb)
    await host.begin(name, `(${noise}) > /dev/null 2>&1`)
    await sleep(1_000)
    await take(host, beside)
    await host.remove([name])
  }
  const perSecond = (took: readonly number[]) => (fileMb * 1_000) / percentile(took, 0.5)
  const figure = (part: number) => [percentile(beside.exec, part), 'ms', percentile(alone.exec, part)] as const
  const rows = [
    row(`neighbour.${kind}.exec.p50`, ...figure(0.5)),
    row(`neighbour.${kind}.exec.p95`, ...figure(0.95)),
    row(`neighbour.${kind}.read`, perSecond(beside.read), 'MB/s', perSecond(alone.read)),
    row(`neighbour.${kind}.failed`, beside.failed, 'calls'),
  ]
  bench.say(rows.map(({ name, value, unit, floor }) => `${name} ${value} ${unit}, alone ${floor}`).join('; '))
  return rows
}

export const neighbourBench = async (bench: Bench): Promise<Row[]> => {
  const why = whyNoMachines()
  if (why) {
    bench.skip('neighbour.*', why)
    return []
  }
  const host = await measuredHost(bench, { HUTCH_STANDBY_SECONDS: '3600' })
  await host.create(quiet.name, quiet.memoryMb)
  await host.exec(quiet.name, `head -c ${fileMb * 1024 * 1024} /dev/urandom > /file`)
  bench.say('views')
  const rows = await viewRows(host)
  for (const [kind, noise] of Object.entries(noises)) rows.push(...(await under(bench, host, kind, noise)))
  return rows
}
