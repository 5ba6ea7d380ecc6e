import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { keptDirs, openGet, processDaemon, until } from '../../support/processes.ts'

const main = fileURLToPath(new URL('../../../daemon/main.ts', import.meta.url))

/** A daemon of its own process, to be killed in mid-sentence. */
const realDaemon = async (t: Test, env: Record<string, string>, root: string) => {
  const child = spawn(process.execPath, [main, '--port', '0', '--disable-telemetry'], {
    cwd: root,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: root,
      TMPDIR: root,
      WORKDIR: root,
      ...env,
      SVC_SCALE_FILE: join(root, 'no/scale'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  let log = ''
  child.stderr.on('data', piece => (log += piece))
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  t.teardown(kill)
  const port = await until('the port', () => {
    if (child.exitCode !== null) throw new Error(`the daemon ended: ${log}`)
    return /"event":"daemon.listening".*"port":(\d+)/.exec(log)?.[1]
  })
  const url = `http://127.0.0.1:${port}`
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const parsed = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined
    return { status: answer.status, text, body: parsed }
  }
  return { call, url, kill }
}

t.test('a daemon that is killed loses nothing: the next one follows, restarts and stops its processes', async t => {
  const { root, env } = keptDirs(t)
  const go = join(root, 'go')
  const first = await realDaemon(t, env, root)
  const ticking = `i=0; while [ ! -e ${go} ]; do i=$((i+1)); echo "tick $i"; sleep 0.01; done; echo last; exec sleep 300`
  const { body } = await first.call('POST', '/process', { command: ticking, name: 'tick' })
  await first.call('POST', '/process', { command: 'echo done; exit 5', name: 'ended', waitForCompletion: true })
  const before = await openGet(t, `${first.url}/process/tick/logs/stream`)
  before.message.on('error', () => undefined)
  const seen = await before.seen(/tick 5\n/)
  // Cut in the middle of a line, as a lost connection may.
  const kept = seen.slice(0, seen.indexOf('tick 5') + 2)
  await first.kill()

  const second = await realDaemon(t, env, root)
  t.match((await second.call('GET', '/process/tick')).body, { pid: body.pid, status: 'running' })
  t.match((await second.call('GET', '/process/ended')).body, { status: 'failed', exitCode: 5, stdout: 'done\n' })
  const after = await openGet(t, `${second.url}/process/tick/logs/stream?cursor=${kept.length}`)
  t.equal(after.message.headers['x-svc-cursor'], String(kept.length))
  writeFileSync(go, '')
  await after.seen(/stdout:last\n/)
  t.equal((await second.call('DELETE', `/process/${body.pid}`)).status, 200)
  const text = kept + (await after.ended).replace('[Process is being stopped]\n', '')
  const ticks = text.split('\n').slice(0, -2)
  t.ok(ticks.length > 5)
  t.same(
    ticks,
    ticks.map((_, index) => `stdout:tick ${index + 1}`),
    'every line once, in order, over two daemons',
  )
  t.equal((await second.call('GET', '/process/tick/logs/stream')).text, text)
})

t.test('in the same process a child that ended meanwhile gives its code', async t => {
  const { env, root } = keptDirs(t)
  const first = await processDaemon(t, { env })
  const go = join(root, 'go')
  const { body } = await first.call('POST', '/process', {
    body: { command: `echo up; until [ -e ${go} ]; do sleep 0.02; done; echo down; exit 9`, name: 'x' },
  })
  await until('its start', async () => (await first.call('GET', '/process/x')).body.stdout === 'up\n')
  await first.close()
  writeFileSync(go, '')
  await until('its end', () => / Z /.test(readFileSync(`/proc/${body.pid}/stat`, 'utf8')))
  const second = await processDaemon(t, { env })
  const end = await until('the exit code', async () => {
    const now = (await second.call('GET', '/process/x')).body
    return now.status !== 'running' && now
  })
  t.match(end, { status: 'failed', exitCode: 9, stdout: 'up\ndown\n' })
  t.equal((await second.call('GET', '/process/x/logs/stream')).text, 'stdout:up\nstdout:down\n')
})

t.test('restarts, deadlines and waiting go on under the next daemon', async t => {
  const { env } = keptDirs(t)
  const first = await processDaemon(t, { env })
  await first.call('POST', '/process', { body: { command: 'sleep 300', name: 'kept', keepAlive: true, timeout: 2 } })
  await first.call('POST', '/process', {
    body: { command: 'exit 1', name: 'again', restartOnFailure: true, maxRestarts: 1 },
  })
  await until('the pause', async () => (await first.call('GET', '/process/again')).body.restartCount === 1)
  await first.close()
  const second = await processDaemon(t, { env })
  await until('the deadline', async () => (await second.call('GET', '/process/kept')).body.status === 'killed')
  const again = await until('the restart', async () => {
    const { body } = await second.call('GET', '/process/again')
    return body.status !== 'running' && body
  })
  t.match(again, { status: 'failed', exitCode: 1, restartCount: 1 })
})

t.test('a pid that belongs to another process now is never adopted', async t => {
  const { env, root } = keptDirs(t)
  const first = await processDaemon(t, { env })
  await first.call('POST', '/process', { body: { command: 'sleep 300', name: 'mine' } })
  await first.close()
  // Start times are told in steps of 10 ms.
  await new Promise(resolve => setTimeout(resolve, 50))
  const stranger = spawn('sleep', ['300'])
  t.teardown(() => stranger.kill('SIGKILL'))
  const journal = join(root, 'state', 'processes', 'processes.jsonl')
  const text = readFileSync(journal, 'utf8')
  const record = JSON.parse(text.trim().split('\n').at(-1) ?? '')
  const mine = record.current.pid
  t.teardown(() => process.kill(mine, 'SIGKILL'))
  record.current.pid = stranger.pid
  writeFileSync(journal, `${JSON.stringify(record)}\n{"half a line`)
  const second = await processDaemon(t, { env })
  t.match((await second.call('GET', '/process/mine')).body, { status: 'failed', exitCode: -1 })
  t.equal((await second.call('DELETE', '/process/mine')).status, 404)
  t.equal(stranger.exitCode, null)
  t.equal(stranger.signalCode, null, 'the other process was not touched')
})

t.test('what steers the daemon is in a directory that is its own alone', async t => {
  const { env, root } = keptDirs(t)
  const { call } = await processDaemon(t, { env })
  await call('POST', '/process', { body: { command: 'echo x', waitForCompletion: true } })
  const dir = join(root, 'state', 'processes')
  t.equal(statSync(dir).mode & 0o777, 0o700)
  t.equal(statSync(join(dir, 'processes.jsonl')).mode & 0o777, 0o600)
})
