/** A real upgrade: a daemon in its own process becomes the release it downloaded, and goes on with its processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { standIn } from '../../support/stand-in.ts'

const main = resolve(import.meta.dirname, '../../../daemon/main.ts')

/** A release is a program: here a script that this Node runs, padded to the size of one. */
const release = `#!${process.execPath} --preserve-symlinks-main
import(${JSON.stringify(`file://${main}`)})
${'// release\n'.repeat(200)}`

const started = async (t: Test, env: Record<string, string>) => {
  const dir = t.testdir({})
  for (const name of ['state', 'logs', 'work']) mkdirSync(join(dir, name))
  const child = spawn(process.execPath, [main, '-p', '0', '-c', 'exec sleep 1000'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: dir,
      WORKDIR: join(dir, 'work'),
      SANDBOX_LOG_DIR: join(dir, 'logs'),
      SANDBOX_STATE_FILE: join(dir, 'state', 'processes.json'),
      SANDBOX_PROXY_STATE_FILE: join(dir, 'state', 'proxy.json'),
      SVC_METADATA_PATH: join(dir, 'state', 'metadata'),
      SVC_SCALE_FILE: join(dir, 'none', 'scale'),
      HUTCH_STATE_DIR: join(dir, 'state', 'private'),
      HUTCH_UPGRADE_DIR: join(dir, 'state', 'upgrade'),
      ...env,
    },
  })
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const lines = createInterface({ input: child.stderr })
  const seen: Record<string, unknown>[] = []
  let look = () => {}
  lines.on('line', line => {
    if (!line.startsWith('{')) return
    seen.push(JSON.parse(line) as Record<string, unknown>)
    look()
  })
  /** The next line of that event, which may have been written already. */
  const next = (event: string, from = 0) =>
    new Promise<Record<string, unknown>>((done, reject) => {
      const limit = setTimeout(() => reject(new Error(`no ${event}: ${JSON.stringify(seen)}`)), 90_000)
      look = () => {
        const found = seen.slice(from).find(line => line['event'] === event)
        if (!found) return
        clearTimeout(limit)
        done(found)
      }
      look()
    })
  return { child, next, seen }
}

const ask = async (port: unknown, method: string, path: string, body?: unknown) => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // oxlint-disable-next-line typescript/no-explicit-any
  return (await answer.json()) as any
}

t.test('the daemon becomes its release: same pid, same processes', async t => {
  const releases = await standIn(t, (_asked, response) => response.end(release))
  const { child, next, seen } = await started(t, { HUTCH_RELEASES_URL: releases.url })
  const { port } = await next('daemon.listening')
  const { pid: command } = await next('command.started')
  t.teardown(() => {
    try {
      process.kill(Number(command), 'SIGKILL')
    } catch {
      // ESRCH: it ended with the daemon.
    }
  })
  const sleeper = await ask(port, 'POST', '/process', { command: 'sleep 1000', name: 'sleeper' })
  const stubborn = await ask(port, 'POST', '/process', {
    command: `trap '' TERM; echo up; exec sleep 1000`,
    name: 'slow',
  })
  for (const { pid } of [sleeper, stubborn])
    t.teardown(() => {
      try {
        process.kill(-Number(pid), 'SIGKILL')
      } catch {
        // ESRCH: it is gone already.
      }
    })
  while ((await ask(port, 'GET', '/process/slow')).stdout !== 'up\n')
    await new Promise(resolve => setTimeout(resolve, 20))
  await ask(port, 'DELETE', '/process/slow')
  const before = await ask(port, 'GET', '/health')
  t.equal(before.upgradeCount, 0)
  const from = seen.length
  t.match(await ask(port, 'POST', '/upgrade', { version: 'v2' }), { version: 'v2', baseUrl: releases.url })
  const stepOf = async () => {
    // The candidate listens too, for the rehearsal; the new daemon has the socket of before.
    for (let index = from; ; index++) {
      const line = await next('daemon.listening', index)
      index = seen.indexOf(line)
      if (line['port'] === port) return line
    }
  }
  const again = await stepOf()
  t.equal((await next('command.started', from))['pid'], command, 'the command of -c goes on and is not started again')
  const after = await ask(again['port'], 'GET', '/health')
  t.equal(after.upgradeCount, 1)
  t.match(after.lastUpgrade, { status: 'completed', step: 'completed', version: 'v2', bytesDownloaded: release.length })
  t.equal(child.exitCode, null, 'the process never ended')
  const found = await ask(again['port'], 'GET', '/process/sleeper')
  t.match(found, { pid: sleeper.pid, status: 'running' })
  const slow = await ask(again['port'], 'GET', '/process/slow')
  t.match(slow, { status: 'stopped', completedAt: '' }, "one that takes its time to stop is in nobody's way")
  t.match(await ask(again['port'], 'DELETE', '/process/sleeper/kill'), { message: /killed successfully/ })
  child.kill('SIGTERM')
  await once(child, 'exit')
})
