/**
 * Sandboxes over the HTTP API of a real server: how soon the first command has run, how many can be asked for at once,
 * how fast one wakes, what a command, a file and a sandbox that does nothing cost.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { whyNoMachines } from '../support/machine.ts'
import { startSpawner } from './child.ts'
import { docker } from './docker.ts'
import { filesThrough } from './host-files.ts'
import { ownUsers } from './host-users.ts'
import { imageRoot, measuredHost, type MeasuredHost } from './host-server.ts'
import { inTurns, timeOf, times, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'
import { bareRunc } from './runc.ts'

const megabyte = 1024 * 1024

const createToExec = async (bench: Bench, host: MeasuredHost): Promise<Row[]> => {
  bench.say('create to the first exec, beside runc and docker')
  const rootfs = await imageRoot()
  const runc = await bareRunc(bench, rootfs)
  const engine = await docker(bench, rootfs)
  const cold = async (round: number) => {
    const name = `cold-${round}`
    const took = await timeOf(async () => {
      await host.create(name)
      await host.exec(name, 'true')
    })
    await host.remove([name])
    return took
  }
  await cold(1_000)
  await runc()
  await engine?.runTrue()
  const { ours, bare, theirs } = await inTurns(15, {
    ours: cold,
    bare: () => timeOf(runc),
    theirs: () => (engine ? timeOf(engine.runTrue) : Promise.resolve(Number.NaN)),
  })
  const p50 = percentile(ours, 0.5)
  return [
    row('host.create-exec.cold.p50', p50, 'ms'),
    row('host.create-exec.cold.p95', percentile(ours, 0.95), 'ms'),
    row('host.create-exec.against-runc.p50', p50, 'ms', percentile(bare, 0.5)),
    ...(engine ? [row('host.create-exec.against-docker.p50', p50, 'ms', percentile(theirs, 0.5))] : []),
  ]
}

/** Sandboxes asked for at the same moment, each used as soon as it is there. */
export const burst = async (bench: Bench, host: MeasuredHost, count: number, family = 'host'): Promise<Row[]> => {
  bench.say(`${count} creates at once`)
  const names = Array.from({ length: count }, (_, index) => `burst-${count}-${index}`)
  const samples: number[] = []
  const failures: string[] = []
  await Promise.all(
    names.map(async name => {
      try {
        samples.push(
          await timeOf(async () => {
            await host.create(name)
            await host.exec(name, 'true')
          }),
        )
      } catch (error) {
        failures.push(String(error))
      }
    }),
  )
  if (failures[0]) bench.say(`${failures.length} failed, the first with ${failures[0]}`)
  await host.remove(names)
  return [
    row(`${family}.burst-${count}.succeeded`, (samples.length / count) * 100, '%'),
    row(`${family}.burst-${count}.p50`, percentile(samples, 0.5), 'ms'),
    row(`${family}.burst-${count}.max`, Math.max(...samples), 'ms'),
  ]
}

const execTrue = async (bench: Bench, host: MeasuredHost): Promise<Row[]> => {
  bench.say('exec true')
  await host.create('exec')
  await host.exec('exec', 'true')
  const [address = ''] = await host.addresses()
  const body = JSON.stringify({ command: 'true', waitForCompletion: true })
  const spawner = await startSpawner(bench)
  const ways = {
    floor: () => spawner(),
    daemon: () => timeOf(async () => (await fetch(`${address}/process`, { method: 'POST', body })).arrayBuffer()),
    gateway: () => timeOf(() => host.exec('exec', 'true')),
  }
  await inTurns(30, ways)
  const { floor, daemon, gateway } = await inTurns(200, ways)
  await host.remove(['exec'])
  const p50 = percentile(floor, 0.5)
  return [
    row('host.exec-true.daemon.p50', percentile(daemon, 0.5), 'ms', p50),
    row('host.exec-true.gateway.p50', percentile(gateway, 0.5), 'ms', p50),
  ]
}

/** Memory of ten daemons at rest, awake and asleep, and of one that has worked. */
const memory = async (bench: Bench, host: MeasuredHost): Promise<Row[]> => {
  bench.say('memory')
  const count = 10
  const names = Array.from({ length: count }, (_, index) => `rest-${index}`)
  await Promise.all(names.map(name => host.create(name)))
  for (const name of names) await host.exec(name, 'true')
  // A daemon gives memory back some seconds after its work; that is what rest means.
  await sleep(10_000)
  const rest = host.memory()
  const [busy = ''] = names
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 10 }, () => host.exec(busy, 'true')))
    await host.exec(busy, 'seq 1 100000')
    await host.exec(busy, 'head -c 1000000 /dev/zero | tr "\\0" x > /root-file')
    await host.get(busy, '/filesystem/root-file')
    await host.get(busy, '/process')
  }
  const worked = host.memory()
  await host.remove(names)
  return [
    row('host.memory.at-rest', rest.bytes / count / megabyte, 'MB'),
    row('host.memory.after-work', (worked.bytes - (rest.bytes * (count - 1)) / count) / megabyte, 'MB'),
  ]
}

/** Ten that fell asleep after their daemons had rested, as by the usual rule. A daemon collects eight seconds after its start at the earliest. */
const asleep = async (bench: Bench): Promise<Row[]> => {
  bench.say('memory asleep')
  const host = await measuredHost(bench, { HUTCH_STANDBY_SECONDS: '12' })
  const names = Array.from({ length: 10 }, (_, index) => `asleep-${index}`)
  await Promise.all(names.map(name => host.create(name)))
  for (const name of names) await host.exec(name, 'true')
  for (const name of names) await host.asleep(name)
  const held = host.memory().bytes / names.length
  await host.remove(names)
  return [row('host.memory.standby', held / megabyte, 'MB')]
}

/** A server whose sandboxes sleep soon: what one that sleeps at once holds, and what waking it adds to a request. */
const standby = async (bench: Bench): Promise<Row[]> => {
  bench.say('standby')
  const host = await measuredHost(bench, { HUTCH_STANDBY_SECONDS: '0.2' })
  const names = Array.from({ length: 10 }, (_, index) => `sleeper-${index}`)
  await Promise.all(names.map(name => host.create(name)))
  for (const name of names) await host.get(name, '/health')
  for (const name of names) await host.asleep(name)
  const held = host.memory().bytes / names.length
  const [woken, awake]: [number[], number[]] = [[], []]
  for (let round = 0; round < 2; round++)
    for (const name of names) {
      await host.asleep(name)
      woken.push(await timeOf(() => host.get(name, '/health')))
      awake.push(...(await times(3, () => host.get(name, '/health'))))
    }
  await host.remove(names)
  return [
    row('host.wake.added.p50', percentile(woken, 0.5) - percentile(awake, 0.5), 'ms'),
    row('host.wake.added.p95', percentile(woken, 0.95) - percentile(awake, 0.5), 'ms'),
    row('host.memory.standby.at-once', held / megabyte, 'MB'),
  ]
}

export const hostBench = async (bench: Bench): Promise<Row[]> => {
  const why = whyNoMachines()
  if (why) {
    bench.skip('host.*', why)
    return []
  }
  const host = await measuredHost(bench)
  return [
    ...(await createToExec(bench, host)),
    ...(await ownUsers(bench)),
    ...(await burst(bench, host, 20)),
    ...(await burst(bench, host, 100)),
    ...(await execTrue(bench, host)),
    ...(await filesThrough(bench, host)),
    ...(await memory(bench, host)),
    ...(await asleep(bench)),
    ...(await standby(bench)),
  ]
}
