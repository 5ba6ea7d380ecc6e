import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createMemoryKills } from '../../../daemon/process/memory-kills.ts'
import { outcomeOf, signalName } from '../../../daemon/process/outcome.ts'
import { fakeClock } from '../../support/clock.ts'
import { events, openPost, processDaemon, processServer, until } from '../../support/processes.ts'

const finished = (command: string, more: object = {}) => ({ body: { command, waitForCompletion: true, ...more } })

t.test('each way to end has a reason of its own, and the old members say what they said', async t => {
  const { call } = await processDaemon(t)
  const ended = async (command: string, more: object = {}) =>
    (await call('POST', '/process', finished(command, more))).body
  t.match(await ended('exit 0'), { status: 'completed', exitCode: 0, reason: 'exited', signal: undefined })
  t.match(await ended('exit 7'), { status: 'failed', exitCode: 7, reason: 'exited', signal: undefined })
  t.match(await ended('kill -9 $$'), { status: 'failed', exitCode: -1, reason: 'signal', signal: 'SIGKILL' })
  t.match(await ended('kill -SEGV $$'), { status: 'failed', exitCode: -1, reason: 'signal', signal: 'SIGSEGV' })
  t.match(await ended('exec sleep 300', { keepAlive: true, timeout: 1 }), {
    status: 'killed',
    exitCode: -1,
    reason: 'timeout',
    signal: 'SIGKILL',
    limit: { seconds: 1 },
  })
  const stopped = async (name: string, path: string) => {
    const { body } = await call('POST', '/process', { body: { command: 'exec sleep 300', name } })
    t.notOk('reason' in body, 'not while it runs')
    await call('DELETE', `/process/${name}${path}`)
    return until('its end', async () => {
      const shown = (await call('GET', `/process/${name}`)).body
      return shown.completedAt !== '' && shown
    })
  }
  t.match(await stopped('a', ''), { status: 'stopped', exitCode: -1, reason: 'stopped', signal: 'SIGTERM' })
  t.match(await stopped('b', '/kill'), { status: 'killed', exitCode: -1, reason: 'killed', signal: 'SIGKILL' })
  t.match((await call('GET', '/process')).body[0], { reason: 'exited' }, 'also in the list')
})

t.test(
  'the peak of memory is that of the process, and is left out where it cannot be told from the daemon',
  async t => {
    const { call } = await processDaemon(t)
    const bytes = process.resourceUsage().maxRSS * 1024 + 200e6
    const { body } = await call('POST', '/process', finished(`exec perl -e 'my $x = "a" x ${bytes}'`))
    t.ok(
      body.peakMemoryBytes > bytes && body.peakMemoryBytes < 2 * bytes + 100e6,
      `${body.peakMemoryBytes} of ${bytes}`,
    )
    t.notOk('peakMemoryBytes' in (await call('POST', '/process', finished('true'))).body)
  },
)

t.test('a wait that is over answers with the process and its output so far', async t => {
  const { call } = await processDaemon(t)
  const command = 'echo begun; exec sleep 300'
  const { status, body } = await call('POST', '/process', finished(command, { name: 'slow', timeout: 1 }))
  t.match(
    { status, body },
    { status: 422, body: { error: /timed out/, name: 'slow', pid: /^\d+$/, status: 'running' } },
  )
  t.match(body, { stdout: 'begun\n', logs: 'begun\n', exitCode: 0, completedAt: '' })
  t.notOk('reason' in body)
  t.match((await call('GET', `/process/${body.pid}`)).body, { name: 'slow', status: 'running' }, 'it goes on')
  const ports = await call('POST', '/process', { body: { command: 'echo no port; exit 3', waitForPorts: [9] } })
  t.match(ports, { status: 422, body: { error: /before port 9/, stdout: 'no port\n', exitCode: 3, reason: 'exited' } })
  const silent = await call('POST', '/process', { body: { command: 'true', workingDir: '/no/such' } })
  t.strictSame(Object.keys(silent.body), ['error'], 'one that was not started has no process')
})

t.test('a stream waits no longer than its timeout, and then says which process goes on', async t => {
  const { url, call } = await processServer(t)
  const accept = { accept: 'text/event-stream' }
  const command = 'echo begun; exec sleep 300'
  const began = performance.now()
  const open = await openPost(t, `${url}/process`, { command, name: 'slow', timeout: 1 }, accept)
  const seen = events(await open.ended)
  const took = performance.now() - began
  t.ok(took >= 900 && took < 20_000, `${took} ms`)
  t.match(seen, [
    { type: 'stdout', data: 'begun\n' },
    { type: 'error', data: /timed out/, process: { name: 'slow', status: 'running', stdout: 'begun\n' } },
  ])
  t.match((await call('GET', '/process/slow')).body, { status: 'running' }, 'it goes on')
  const quick = await openPost(t, `${url}/process`, { command: 'echo one', timeout: 60 }, accept)
  t.match(events(await quick.ended), [{ type: 'stdout' }, { type: 'result' }], 'one that ends in time')
  const limited = await openPost(t, `${url}/process`, { command, keepAlive: true, timeout: 1 }, accept)
  const last = events(await limited.ended).at(-1)
  t.match(JSON.parse(last?.data ?? '{}'), { status: 'killed', reason: 'timeout' }, 'with keepAlive it is its own limit')
})

t.test('a kill for want of memory is told from any other', async t => {
  for (const { kills, limit } of [
    { kills: 'memory.events', limit: 'memory.max' },
    { kills: 'memory/memory.oom_control', limit: 'memory/memory.limit_in_bytes' },
  ]) {
    const dir = t.testdir({ memory: {} })
    mkdirSync(join(dir, 'memory'), { recursive: true })
    const count = (total: number) => writeFileSync(join(dir, kills), `low 0\noom_kill ${total}\n`)
    count(3)
    writeFileSync(join(dir, limit), '536870912\n')
    const clock = fakeClock()
    const memoryKills = createMemoryKills({ dir, clock })
    const outcome = (exitCode: number | null, signal: number | null) =>
      outcomeOf(
        { exitCode, signal },
        {
          ending: undefined,
          timedOut: false,
          takeMemoryKill: memoryKills.take,
          memoryBytes: memoryKills.limitBytes,
          floorBytes: 0,
        },
      )
    t.match(outcome(null, 9), { reason: 'signal' }, 'what was counted before')
    count(5)
    t.match(outcome(null, 11), { reason: 'signal', signal: 11 })
    t.match(outcome(1, null), { reason: 'exited' })
    t.strictSame(outcome(null, 9), { reason: 'out_of_memory', signal: 9, memoryBytes: 536_870_912 })
    t.match(outcome(137, null), { reason: 'out_of_memory' }, 'through a shell')
    t.match(outcome(null, 9), { reason: 'signal' }, 'each is claimed once')
    count(6)
    memoryKills.look()
    await clock.jump(11_000)
    t.match(outcome(null, 9), { reason: 'signal' }, 'an old one is nobody’s')
  }
})

t.test('signals have their usual names', t => {
  t.strictSame([6, 9, 11, 15, 34].map(signalName), ['SIGABRT', 'SIGKILL', 'SIGSEGV', 'SIGTERM', 'SIG34'])
  t.end()
})
