/** kill -9 of the real server at many moments; the next start puts the world right. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stripArguments } from '../support/coverage.ts'
import { whyNoMachines } from '../support/machine.ts'
import { loopsLeft, traces } from '../support/oci.ts'
import { scratchInstance, server, type Server } from '../support/server.ts'
import { sample } from '../support/thorough.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const create = (s: Server, name: string) =>
  s.call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime: { image: 'busybox', memory: 256 } } })
const exec = async (s: Server, name: string, command: string) =>
  (await s.call('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true })).body

/** What is there of machines, from the box itself. */
const machines = (s: Server): string[] => readdirSync(join(s.dataDir, 'machines'))
const mounts = (s: Server): string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter(line => line.includes(s.dataDir))
const processes = (s: Server): string[] =>
  readdirSync('/proc').filter(pid => {
    if (!/^\d+$/.test(pid)) return false
    try {
      if (!readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(s.names.cgroup)) return false
      // One that has ended keeps its cgroup's name until whoever inherited it looks; it is not ours to wait for.
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    } catch {
      // It ended meanwhile.
      return false
    }
  })

const createMoments = sample([0, 8, 16, 25, 40, 60, 80, 110, 140, 180, 230, 300], 2)
const deleteMoments = sample([0, 5, 10, 20, 35, 55, 80, 120, 180], 2)
/** From when there is a directory: what comes before is only the loading of its sources. */
const firstStartMoments = sample([0, 10, 20, 40, 60, 90, 130], 2)

t.test('killed at any moment of a create, the sandbox comes up at the next start', async t => {
  const s = await server(t)
  for (const [index, moment] of createMoments.entries()) {
    const name = `c${index}`
    t.equal((await create(s, name)).status, 200)
    await sleep(moment)
    await s.kill()
    await s.start()
    await s.until(name, body => body.status === 'DEPLOYED')
    t.match(await exec(s, name, 'echo up'), { logs: 'up\n' }, `usable after a kill ${moment} ms into it`)
  }
  t.equal(machines(s).length, createMoments.length, 'one machine each')
  t.equal(new Set(processes(s)).size, createMoments.length, 'one daemon each')
  for (const index of createMoments.keys()) await s.call('DELETE', `/v0/sandboxes/c${index}`)
  for (const index of createMoments.keys()) await s.until(`c${index}`, body => body.status === 'TERMINATED')
  t.equal(await s.stop(), 0)
  t.same(machines(s), [])
  t.same(
    [...mounts(s), ...processes(s), ...traces(s.names), ...(await loopsLeft(s.dataDir))],
    [],
    'nothing is left on the box',
  )
})

t.test('killed at any moment of a delete, it is gone after the next start', async t => {
  const s = await server(t)
  for (const [index, moment] of deleteMoments.entries()) {
    const name = `d${index}`
    await create(s, name)
    await s.until(name, body => body.status === 'DEPLOYED')
    t.equal((await s.call('DELETE', `/v0/sandboxes/${name}`)).status, 200)
    await sleep(moment)
    await s.kill()
    await s.start()
    await s.until(name, body => body.status === 'TERMINATED')
  }
  t.equal(await s.stop(), 0)
  t.same(
    [...machines(s), ...mounts(s), ...processes(s), ...traces(s.names), ...(await loopsLeft(s.dataDir))],
    [],
    'nothing is left on the box',
  )
})

t.test('killed at any moment of the first start, the next one works, with a key that works', async t => {
  const { dataDir } = scratchInstance(t)
  for (const moment of firstStartMoments) {
    const fresh = await killedFirstStart(join(dataDir, String(moment)), moment)
    t.equal(fresh.status, 200, `after a kill ${moment} ms into it`)
  }
})

t.test('asleep when the server is killed: still asleep, and awake at the next request', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '0.5' })
  await create(s, 'a')
  await exec(s, 'a', 'echo kept > /kept')
  await s.until('a', body => body.state === 'STANDBY')
  await s.kill()
  await s.start()
  t.equal((await s.call('GET', '/v0/sandboxes/a')).body.state, 'STANDBY')
  t.match(await exec(s, 'a', 'cat /kept'), { logs: 'kept\n' })
})

t.test('a machine that is killed comes back with its files', async t => {
  const s = await server(t)
  await create(s, 'a')
  await exec(s, 'a', 'echo kept > /kept')
  for (const pid of processes(s)) process.kill(Number(pid), 'SIGKILL')
  const back = await s.until('a', body => body.status === 'DEPLOYED' && body.errors?.length > 0)
  t.match(back.errors, [{ code: 'MACHINE_LOST' }])
  t.match(await exec(s, 'a', 'cat /kept'), { logs: 'kept\n' })
})

/** A start over an empty data directory that is killed after `ms`; then a whole one, asked with the key on disk. */
const killedFirstStart = async (dataDir: string, ms: number): Promise<{ status: number }> => {
  const root = new URL('../..', import.meta.url).pathname
  const env = {
    PATH: process.env['PATH'] ?? '',
    HUTCH_DATA_DIR: dataDir,
    HUTCH_PORT: '0',
    HUTCH_DRIVER: 'fake',
    HUTCH_LOG_LEVEL: 'warn',
  }
  const start = () =>
    spawn(process.execPath, [...stripArguments, 'control/main.ts', 'run'], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const first = start()
  while (!existsSync(dataDir) && first.exitCode === null) await sleep(1)
  await sleep(ms)
  first.kill('SIGKILL')
  if (first.exitCode === null && first.signalCode === null) await once(first, 'exit')
  const second = start()
  let output = ''
  for (const stream of [second.stdout, second.stderr]) stream.on('data', piece => (output += piece))
  for (let i = 0; i < 6000 && !/serving on (\S+)/.test(output) && second.exitCode === null; i++) await sleep(10)
  const url = /serving on (\S+)/.exec(output)?.[1]
  const key = readFileSync(join(dataDir, 'admin-key'), 'utf8').trim()
  try {
    return await fetch(`${url}/v0/sandboxes`, { headers: { authorization: `Bearer ${key}` } })
  } finally {
    second.kill('SIGKILL')
    if (second.exitCode === null && second.signalCode === null) await once(second, 'exit')
  }
}
