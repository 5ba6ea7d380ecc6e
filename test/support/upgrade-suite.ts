/** The daemon of a running sandbox becomes that of a newer bundle, and what runs in the sandbox does not notice. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import WebSocket from 'ws'
import { ask, patienceMs, stream, until, type Target } from '../contract/target.ts'
import { server } from './server.ts'

const runtime = fileURLToPath(new URL('../../.runtime', import.meta.url))
const newer = 'b'.repeat(32)
/** As builds made them from before there was a channel: it says no port, so its daemon is given no key. */
export const older = 'a'.repeat(32)
/** Well in its rehearsal, and unable to start. */
const broken = 'c'.repeat(32)
const breaks = `process.env.HUTCH_REHEARSAL || process.argv.push('--port', 'nonsense')`

interface Facts {
  readonly digest: string
  readonly command: readonly string[]
  readonly channelPort?: number
}

/**
 * A directory of bundles as `make` leaves it: the one of this checkout, and the same under the names of others. `first` is
 * the one that the host begins with.
 */
export const bundles = (t: Test, first?: string): { dir: string; release: () => void } => {
  const original = realpathSync(join(runtime, 'bundle'))
  const dir = realpathSync(mkdtempSync(join(runtime, 'upgrade-test-')))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const facts = JSON.parse(readFileSync(join(original, 'bundle.json'), 'utf8')) as Facts
  for (const digest of [facts.digest, newer, broken, older]) {
    // Links: two copies would be hundreds of megabytes.
    execFileSync('cp', ['-al', original, join(dir, digest)])
    unlinkSync(join(dir, digest, 'bundle.json'))
    const command = [...facts.command]
    if (digest === broken) {
      writeFileSync(join(dir, digest, 'breaks.cjs'), breaks)
      command.splice(-1, 0, '--require', '/.hutch/breaks.cjs')
    }
    const { channelPort, ...rest } = facts
    const said = digest === older ? rest : { ...rest, channelPort }
    writeFileSync(join(dir, digest, 'bundle.json'), JSON.stringify({ ...said, digest, command }))
  }
  const point = (digest: string) => {
    symlinkSync(digest, join(dir, '.next'))
    renameSync(join(dir, '.next'), join(dir, 'current'))
    writeFileSync(join(dir, 'latest'), digest)
  }
  point(first ?? facts.digest)
  return { dir, release: () => point(newer) }
}

const programs = {
  ticker: {
    command: 'i=0; while [ ! -e /tmp/last ]; do i=$((i+1)); echo tick $i; sleep 0.02; done; echo last; exit 7',
  },
  reader: { command: 'cat; exit 5', stdin: true },
  kept: { command: 'exec sleep 1000', keepAlive: true, timeout: 0 },
  again: {
    command:
      'echo run; until [ -e /tmp/fail ]; do sleep 0.02; done; [ -e /tmp/once ] && exit 0; touch /tmp/once; exit 1',
    restartOnFailure: true,
    maxRestarts: 3,
  },
}

/** How an upgrade ends; while the daemon is replaced, nobody answers for a moment. */
export const outcome = (target: Target, count: number, step: string) =>
  until(`upgrade ${count}, ${step}`, async () => {
    // A request that the old daemon has taken and not answered is cut.
    const answer = await ask(target, 'GET', '/health').catch(() => undefined)
    if (answer?.status !== 200) return undefined
    const { body } = answer
    if (body.lastUpgrade.status === 'failed') throw new Error(JSON.stringify(body.lastUpgrade))
    return body.upgradeCount === count && body.lastUpgrade.step === step && body.lastUpgrade
  })

/** All of it in a sandbox of `runtime`. */
export const upgradeSuite = async (t: Test, runtime: 'runc' | 'runsc'): Promise<void> => {
  const { dir, release } = bundles(t)
  const s = await server(t, { HUTCH_BUNDLE_DIR: join(dir, 'current'), HUTCH_RUNTIME: runtime })
  const made = await s.call('POST', '/v0/sandboxes', {
    metadata: { name: 'up' },
    spec: { runtime: { image: 'svc/base-image:latest', memory: 1024 } },
  })
  const target: Target = {
    url: made.body.metadata.url,
    headers: { authorization: `Bearer ${s.key}` },
    workdir: '/',
    scratch: '/tmp',
    gateway: true,
    ownNetwork: true,
  }
  const get = async (name: string) => (await ask(target, 'GET', `/process/${name}`)).body
  const feed = (data: string) => ask(target, 'POST', '/process/reader/stdin', { body: data })
  const touch = (path: string) => ask(target, 'PUT', `/filesystem/${path}`, { body: { content: '' } })

  const pids: Record<string, string> = {}
  for (const [name, program] of Object.entries(programs)) {
    pids[name] = await until(`the start of ${name}`, async () => {
      const { status, body, text } = await ask(target, 'POST', '/process', { body: { name, ...program } })
      if (status === 200) return body.pid as string
      // On gVisor a busy box may take longer for a start than the daemon waits; nothing was started then.
      t.match({ runtime, text }, { runtime: 'runsc', text: /ETIMEDOUT/ }, 'it was too slow')
      return undefined
    })
  }
  t.equal((await feed('before\n')).status, 200)
  const socket = new WebSocket(`${target.url.replace('http', 'ws')}/terminal/ws?shell=/bin/sh`, {
    headers: target.headers,
  })
  t.teardown(() => socket.terminate())
  const closed = once(socket, 'close')
  await once(socket, 'open', { signal: AbortSignal.timeout(patienceMs) })
  let shown = ''
  socket.on('message', data => (shown += JSON.parse(String(data)).data))
  socket.send(JSON.stringify({ type: 'input', data: 'x=kept-$((6*7)); echo $x pid=$$.\r' }))
  const shell = await until('the shell', async () => /kept-42 pid=(\d+)\./.exec(shown)?.[1])

  await t.test('nothing is newer at first, and it starts anew all the same: clients count upgrades', async t => {
    t.match(await ask(target, 'POST', '/upgrade'), {
      status: 200,
      body: { version: 'latest', baseUrl: 'file:///.hutch/releases' },
    })
    t.match(await outcome(target, 1, 'completed'), { status: 'completed' })
    t.match(
      await ask(target, 'POST', '/process', {
        body: {
          command: 'touch /.hutch/releases/x || rm -rf /.hutch/releases/current || mv /.hutch/releases /tmp',
          waitForCompletion: true,
        },
      }),
      { body: { status: 'failed' } },
      'and nobody in the sandbox can put anything there',
    )
  })

  await t.test('a release that cannot start gives the place back', async t => {
    t.equal((await ask(target, 'POST', '/upgrade', { body: { version: broken } })).status, 200)
    const body = await until('its failure', async () => {
      const answer = await ask(target, 'GET', '/health').catch(() => undefined)
      return answer?.status === 200 && answer.body.lastUpgrade.status === 'failed' && answer.body
    })
    t.match(body, {
      upgradeCount: 1,
      lastUpgrade: { version: broken, step: 'replace', error: /did not start: .*port/ },
    })
    for (const name of Object.keys(programs)) t.match(await get(name), { pid: pids[name], status: 'running' }, name)
  })

  const before = await stream(t, target, '/process/ticker/logs/stream')
  before.message.on('error', () => undefined)
  await before.find(line => line === 'stdout:tick 5', 'the fifth tick')
  release()

  await t.test('the daemon is replaced in its place', async t => {
    t.equal((await ask(target, 'POST', '/upgrade')).status, 200)
    t.match(await outcome(target, 2, 'completed'), {
      status: 'completed',
      version: 'latest',
      binaryPath: `/.hutch/releases/${newer}`,
    })
    const { stdout } = (
      await ask(target, 'POST', '/process', {
        body: { command: "tr '\\0' ' ' < /proc/1/cmdline", waitForCompletion: true },
      })
    ).body
    t.match(stdout, new RegExp(`^/.hutch/releases/${newer}/lib/ld-linux`), 'it is PID 1 and the newer one')
    t.equal((await closed)[0], 1012, 'terminals are told to come back')
  })

  await t.test('processes live on', async t => {
    for (const name of Object.keys(programs)) t.match(await get(name), { pid: pids[name], status: 'running' }, name)
    t.match(await get('kept'), { keepAlive: true }, 'what keeps it awake still does')
    t.equal((await feed('after\n')).status, 200)
    t.equal((await ask(target, 'DELETE', '/process/reader/stdin')).status, 200)
    const reader = await until('its end', async () => {
      const body = await get('reader')
      return body.status !== 'running' && body
    })
    t.match(reader, { status: 'failed', exitCode: 5, stdout: 'before\nafter\n' })
    await touch('/tmp/fail')
    const again = await until('the restart', async () => {
      const body = await get('again')
      return body.status !== 'running' && body
    })
    t.match(again, { pid: pids['again'], status: 'completed', restartCount: 1, exitCode: 0 })
  })

  await t.test('a stream goes on at its cursor, nothing lost, nothing twice', async t => {
    // Cut in the middle of a line, as a lost connection may.
    const kept = before.text().slice(0, before.text().indexOf('tick 5') + 3)
    const after = await stream(t, target, `/process/ticker/logs/stream?cursor=${kept.length}`)
    t.equal(after.message.headers['x-svc-cursor'], String(kept.length))
    await touch('/tmp/last')
    const text = kept + (await after.ended)
    const ticks = text.split('\n').slice(0, -2)
    t.same(
      ticks,
      ticks.map((_, index) => `stdout:tick ${index + 1}`),
    )
    t.match(text, /\nstdout:last\n$/)
    t.match(await get('ticker'), { pid: pids['ticker'], status: 'failed', exitCode: 7 })
    t.equal((await ask(target, 'GET', '/process/ticker/logs/stream')).text, text)
  })

  await t.test('a terminal goes on, its last output first', async t => {
    const next = new WebSocket(`${target.url.replace('http', 'ws')}/terminal/ws?shell=/bin/sh`, {
      headers: target.headers,
    })
    t.teardown(() => next.terminate())
    let shown = ''
    next.on('message', data => (shown += JSON.parse(String(data)).data))
    await once(next, 'open', { signal: AbortSignal.timeout(patienceMs) })
    await until('what was shown before', async () => shown.includes(`kept-42 pid=${shell}.`))
    next.send(JSON.stringify({ type: 'input', data: 'echo again=$x pid=$$.\r' }))
    await until('its answer', async () => shown.includes(`again=kept-42 pid=${shell}.`))
    t.pass('it is the same shell')
  })
}
