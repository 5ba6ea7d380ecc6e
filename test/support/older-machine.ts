/** A machine that an older build has started, whose daemon has no channel, and a host that has one for all others. */
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { innermostPid } from '../../control/drivers/oci/drives/first-process.ts'
import { ask, until, type Target } from '../contract/target.ts'
import { server, type Server } from './server.ts'
import { bundles, older, outcome } from './upgrade-suite.ts'

/** What the host knows of its only machine. */
const markerOf = ({ dataDir }: Server) => {
  const [id = ''] = readdirSync(join(dataDir, 'machines'))
  return JSON.parse(readFileSync(join(dataDir, 'machines', id, 'machine.json'), 'utf8')) as { channel?: object }
}

const firstProcess = ({ names }: Server): number => {
  const lines = (file: string) => execFileSync('sh', ['-c', `cat ${file} 2>/dev/null || true`], { encoding: 'utf8' })
  const pids = new Set(
    lines(`/sys/fs/cgroup/*/${names.cgroup}/*/cgroup.procs /sys/fs/cgroup/${names.cgroup}/*/cgroup.procs`)
      .trim()
      .split('\n'),
  )
  const first = [...pids].find(pid => innermostPid(lines(`/proc/${pid}/status`)) === 1)
  if (!first) throw new Error('there is no first process')
  return Number(first)
}

export const olderMachine = async (t: Test): Promise<void> => {
  const { dir, release } = bundles(t, older)
  const s = await server(t, { HUTCH_BUNDLE_DIR: join(dir, 'current'), HUTCH_STANDBY_SECONDS: '3600' })
  await s.call('POST', '/v0/sandboxes', {
    metadata: { name: 'old' },
    spec: { runtime: { image: 'svc/base-image:latest', memory: 512, envs: [{ name: 'TOP', value: 'of-the-spec' }] } },
  })
  const target = (): Target => ({
    url: `${s.url}/default/sandboxes/old`,
    headers: { authorization: `Bearer ${s.key}` },
    workdir: '/',
    scratch: '/tmp',
    gateway: true,
    ownNetwork: true,
  })
  const run = async (command: string): Promise<string> =>
    (await ask(target(), 'POST', '/process', { body: { command, waitForCompletion: true } })).body.stdout
  const inside = (path: string) => run(`curl -s -o /dev/null -w '%{http_code}' localhost:8080${path}`)
  const everything = async (t: Test) => {
    t.equal((await ask(target(), 'GET', '/health')).status, 200)
    t.equal((await ask(target(), 'GET', '/drives/mount')).status, 200, "a client's endpoint")
    t.equal(await run('cat /root/kept; echo $TOP'), 'mine\nof-the-spec\n')
  }
  await run('echo mine > /root/kept')
  t.notOk(markerOf(s).channel, 'the record says that there is none')
  await everything(t)
  t.equal(await inside('/system/activity'), '200', 'a daemon without a key answers everybody')
  const pid = firstProcess(s)

  await s.kill()
  release()
  await s.start()
  t.equal(firstProcess(s), pid, 'a host of today adopts it as it is')
  await everything(t)
  const labels = { labels: { stage: 'two' } }
  t.equal((await s.call('PUT', '/v0/sandboxes/old', { metadata: labels, spec: {} })).status, 200)
  await everything(t)
  t.equal((await ask(target(), 'POST', '/upgrade')).status, 200)
  t.match(await outcome(target(), 1, 'completed'), { status: 'completed' })
  await everything(t)
  t.equal(
    await inside('/system/activity'),
    '200',
    'in its place nobody can give it a key that a tenant could not have given',
  )

  process.kill(pid, 'SIGKILL')
  await until('its next start', async () => markerOf(s).channel !== undefined)
  await everything(t)
  t.equal(await inside('/system/activity'), '403', 'its next start brings the channel')
  t.match((await ask(target(), 'GET', '/host/identity')).body, { name: 'old', ...labels })
}
