/** Stopping the server as terminals, supervisors and impatient people do: the signal goes to make and its whole group. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../shared/clock.ts'
import { checkout } from '../support/chroot.ts'
import { whyNoMachines } from '../support/machine.ts'
import { traces } from '../support/oci.ts'
import { scratchInstance, server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const { sleep } = systemClock()

/** `make run` in a process group of its own, serving. */
const makeRun = async (t: Test, dataDir: string) => {
  const child = spawn('make', ['run'], {
    cwd: checkout,
    env: { PATH: process.env['PATH'] ?? '', HUTCH_DATA_DIR: dataDir, HUTCH_PORT: '0', HUTCH_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const group = -(child.pid as number)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', piece => (output += piece))
  // Its output ends when the server does; make itself may be gone before.
  const ended = once(child, 'close')
  const said = async (pattern: RegExp) => {
    const end = performance.now() + 120_000
    while (!pattern.test(output)) {
      if (performance.now() > end) throw new Error(`it does not say ${pattern}: ${output}`)
      await sleep(10)
    }
  }
  t.teardown(() => {
    if (child.exitCode === null && child.signalCode === null) process.kill(group, 'SIGKILL')
  })
  await said(/serving on/)
  return { send: (signal: NodeJS.Signals) => process.kill(group, signal), said, ended, output: () => output }
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  t.test(`${signal} for the whole group stops cleanly and leaves nothing`, async t => {
    const { dataDir, names } = scratchInstance(t)
    const run = await makeRun(t, dataDir)
    t.not(traces(names).length, 0, 'there was something to leave')
    run.send(signal)
    await run.ended
    t.match(run.output(), /hutch: stopping; sandboxes run on/)
    t.notMatch(run.output(), /forced/)
    t.same(traces(names), [])
  })

t.test('signals that are repeated at once do not cut the stop short', async t => {
  const { dataDir, names } = scratchInstance(t)
  const run = await makeRun(t, dataDir)
  const over = run.ended.then(() => true)
  for (let sent = 0; sent < 40 && !(await Promise.race([over, sleep(20).then(() => false)])); sent++)
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      try {
        run.send(signal)
      } catch (error) {
        // The group is gone by now.
        t.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
      }
  await run.ended
  t.notMatch(run.output(), /forced/)
  t.same(traces(names), [])
})

t.test('a server that cannot stop is forced by a later Ctrl-C; the next one removes what is left', async t => {
  const { dataDir, names } = scratchInstance(t)
  const run = await makeRun(t, dataDir)
  // A request that never ends holds the stop up.
  const url = /serving on (\S+)/.exec(run.output())?.[1] as string
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  t.teardown(() => socket.destroy())
  socket.write('POST /v0/sandboxes HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{')
  await sleep(200)
  run.send('SIGINT')
  await run.said(/stopping/)
  await sleep(2_300)
  run.send('SIGTERM')
  await sleep(200)
  t.notMatch(run.output(), /forced/, 'a supervisor that repeats itself forces nothing')
  run.send('SIGINT')
  await run.ended
  t.match(run.output(), /hutch: forced to end at once/)
  t.not(traces(names).length, 0, 'something is left')
  const next = await makeRun(t, dataDir)
  next.send('SIGTERM')
  await next.ended
  t.same(traces(names), [])
})

t.test('sandboxes outlive a signal for the group; with the last of them gone, a stop leaves nothing', async t => {
  const s = await server(t, {})
  await s.call('POST', '/v0/sandboxes', { metadata: { name: 'a' }, spec: { runtime: { image: 'busybox' } } })
  await s.until('a', body => body.status === 'DEPLOYED')
  await s.stop()
  const run = await makeRun(t, s.dataDir)
  run.send('SIGINT')
  await run.ended
  t.not(traces(s.names).length, 0, 'the sandbox is there')
  const again = await makeRun(t, s.dataDir)
  const at = /serving on (\S+)/.exec(again.output())?.[1] as string
  const call = (method: string) =>
    fetch(`${at}/v0/sandboxes/a`, { method, headers: { authorization: `Bearer ${s.key}` } })
  const record = (await (await call('GET')).json()) as { status: string; errors?: unknown }
  t.match(record, { status: 'DEPLOYED' })
  t.notOk(record.errors, 'it has not been started anew')
  await call('DELETE')
  while (((await (await call('GET')).json()) as { status: string }).status !== 'TERMINATED') await sleep(50)
  again.send('SIGTERM')
  await again.ended
  t.same(traces(s.names), [])
})
