/** Requests that meet a machine whose first process has just died: they are answered by the next one. */
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server, type Server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

/** Dead, once there is no such process. */
const statusOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return 'State:\tX (dead)'
  }
}

/** A process whose first thread has ended still answers while others run. */
const threadsOf = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    return 0
  }
}

/** Ends the first process of the only machine of the server, from outside; resolves when it is gone. */
const killFirst = async (s: Server): Promise<void> => {
  const [id = ''] = readdirSync(join(s.dataDir, 'machines'))
  const group = execFileSync('sh', ['-c', `find /sys/fs/cgroup -path '*${s.names.cgroup}/${id}*' -name cgroup.procs`], {
    encoding: 'utf8',
  })
  const pids = group
    .split('\n')
    .filter(Boolean)
    .flatMap(file => readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number))
  const first = [...new Set(pids)].find(pid => /^NSpid:\s+\d+\s+1$/m.test(statusOf(pid)))
  if (first === undefined) throw new Error(`no first process among ${pids.join(' ')}`)
  process.kill(first, 'SIGKILL')
  await until(async () => /^State:\s+[ZX]/m.test(statusOf(first)) && threadsOf(first) <= 1, 'its end')
}

t.test('a request to a machine that has just died starts it, and is answered', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '600' })
  const spec = { runtime: { image: 'svc/busybox:latest', memory: 256 } }
  const made = await s.call('POST', '/v0/sandboxes', { metadata: { name: 'dies' }, spec })
  t.equal(made.status, 200, made.text)
  const box = made.body.metadata.url
  const echo = (text: string) => s.call('POST', `${box}/process`, { command: `echo ${text}`, waitForCompletion: true })
  t.match(await echo('before'), { status: 200, body: { stdout: 'before\n' } })
  for (const round of [1, 2]) {
    await killFirst(s)
    const all = await Promise.all([echo(`a${round}`), echo(`b${round}`), s.call('GET', `${box}/filesystem/etc`)])
    t.match(
      all.map(({ status }) => status),
      [200, 200, 200],
      all.map(({ text }) => text.slice(0, 200)).join(' '),
    )
    t.equal(all[0].body.stdout, `a${round}\n`)
  }
  await killFirst(s)
  t.match(await s.call('GET', `${box}/port/3999/`), { status: 502 }, 'what nothing listens on is said of the next one')
  const { body } = await s.call('GET', '/v0/sandboxes/dies')
  t.equal(body.status, 'DEPLOYED')
})
