import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEnvironment } from '../../../daemon/environment.ts'
import { createReaper } from '../../../daemon/init/reaper.ts'
import { tailText } from '../../../daemon/process/output/tail.ts'
import type { ProcessConfig } from '../../../daemon/process/context.ts'
import { createSupervisor } from '../../../daemon/process/supervisor.ts'
import { systemClock } from '../../../shared/clock.ts'
import { randomIds } from '../../../shared/ids.ts'
import { silentLog as log } from '../../../shared/log.ts'
import { generousMs, keptDirs, until } from '../../support/processes.ts'

const KiB = 1024

/** A supervisor whose sweep runs when the test says so. */
const swept = (t: Test, more: Partial<ProcessConfig>) => {
  const { root } = keptDirs(t)
  const clock = systemClock()
  let sweep = () => {}
  const stepped = {
    ...clock,
    every(ms: number, run: () => void) {
      if (ms !== 5_000) return clock.every(ms, run)
      sweep = run
      return () => {}
    },
  }
  const config: ProcessConfig = {
    logDir: join(root, 'logs'),
    stateDir: join(root, 'state'),
    cwd: root,
    maxFileBytes: 1024 * KiB,
    maxTotalBytes: 1024 * KiB,
    responseBytes: 4096 * KiB,
    tailBytes: 4096 * KiB,
    keepAlive: true,
    keepFinished: 100,
    rehearsal: false,
    ...more,
  }
  const reaper = createReaper({ clock, log })
  const environment = createEnvironment({ PATH: '/usr/bin:/bin' }, {})
  const supervisor = createSupervisor(config, {
    clock: stepped,
    ids: randomIds(),
    log,
    reaper,
    workload: { environment, identity: () => undefined, dropCapabilities: undefined },
    keepAwake: { hold: () => () => {} },
  })
  const awake = setInterval(() => {}, generousMs)
  t.teardown(() => {
    clearInterval(awake)
    supervisor.close()
    reaper.close()
  })
  const run = async (command: string, name: string) => {
    const managed = supervisor.start({ command, name })
    await managed.finished
    return managed
  }
  return { config, supervisor, run, sweep: () => sweep() }
}

t.test('when all output together is too much, the oldest finished processes lose theirs first', async t => {
  const { supervisor, run, sweep } = swept(t, {})
  for (let index = 0; index < 6; index++) await run(`head -c ${150 * KiB} /dev/zero | tr '\\0' x`, `p${index}`)
  const kept = () => supervisor.list().reduce((sum, { record }) => sum + record.kept, 0)
  t.ok(kept() <= 1024 * KiB, `${kept()} bytes at once`)
  sweep()
  t.ok(kept() <= 1024 * KiB, `${kept()} bytes after`)
  const tails = supervisor.list().map(({ capture }) => tailText(capture, 0, 4096 * KiB))
  t.match(tails[0]?.slice(0, 40), /^\[\.\.\. truncated/, 'the oldest is cut')
  t.equal(tails.at(-1), 'x'.repeat(150 * KiB), 'the newest is whole')
})

t.test('finished output gives way before that of what runs, and the newest of it last', async t => {
  const { supervisor, run, sweep } = swept(t, { maxTotalBytes: 2048 * KiB })
  const seq = (last: number) => `seq 1 ${last}`
  for (let index = 0; index < 20; index++) await run(seq(10_000), `old${index}`)
  const running = supervisor.start({ command: `${seq(60_000)}; exec sleep 300`, name: 'running' })
  await until('its output', () => running.capture.positions.seen[0] >= 348_894)
  sweep()
  t.strictSame(running.capture.positions.heads, [0, 0, 0], 'all that the running one has written is there')
  const last = await run(seq(20_000), 'last')
  sweep()
  t.ok(tailText(last.capture, 0, 4096 * KiB).startsWith('1\n2\n'), 'and all of the newest')
  t.match(tailText(supervisor.find('old0').capture, 0, 4096 * KiB), /^\[\.\.\. truncated/, 'the oldest has paid')
  const total = supervisor.list().reduce((sum, { capture }) => sum + capture.retained(), 0)
  t.ok(total <= 2048 * KiB, `${total} bytes in all`)
  await supervisor.end('running', 'killed')
})

t.test('when what runs is too much by itself, each keeps its share', async t => {
  const { supervisor, sweep } = swept(t, { maxTotalBytes: 3072 * KiB, maxFileBytes: 2048 * KiB })
  const loud = Array.from({ length: 3 }, (_, index) =>
    supervisor.start({ command: 'seq 1 200000; exec sleep 300', name: `loud${index}` }),
  )
  await until('their output', () => loud.every(({ capture }) => capture.positions.seen[0] >= 1_288_894))
  sweep()
  for (const { capture } of loud) {
    const held = capture.positions.seen[0] - capture.positions.heads[0]
    t.ok(held >= 300 * KiB && held <= 400 * KiB, `${held} bytes`)
  }
  for (const { record } of loud) await supervisor.end(record.name, 'killed')
})

t.test('beyond their number the oldest finished processes are forgotten, with their files', async t => {
  const { config, supervisor, run, sweep } = swept(t, { keepFinished: 3 })
  const lasting = supervisor.start({ command: 'exec sleep 300', name: 'lasting' })
  for (let index = 0; index < 5; index++) await run('echo x', `p${index}`)
  sweep()
  t.same(
    supervisor.list().map(({ record }) => record.name),
    ['lasting', 'p2', 'p3', 'p4'],
  )
  t.throws(() => supervisor.find('p0'), { code: 'not_found' })
  t.same(
    readdirSync(config.logDir)
      .filter(name => /^p\d\.log$/.test(name))
      .toSorted(),
    ['p2.log', 'p3.log', 'p4.log'],
  )
  await supervisor.end('lasting', 'killed')
  await lasting.finished
})

t.test('many that are to be forgotten go a few at a time', async t => {
  const { config, supervisor, run, sweep } = swept(t, { keepFinished: 2 })
  for (let index = 0; index < 60; index++) await run(':', `p${index}`)
  sweep()
  const now = supervisor.list().length
  t.ok(now > 30 && now < 60, `${now} are left after one round`)
  await until('the others to go', () => supervisor.list().length === 2)
  t.same(
    readdirSync(config.logDir).toSorted(),
    ['p58', 'p59'].flatMap(name => [`${name}.stderr.log`, `${name}.stdout.log`]),
  )
})

t.test('a round of the sweep opens nothing of the processes that have ended', async t => {
  const { run, sweep } = swept(t, {})
  const managed = await run('echo x', 'done')
  await run(':', 'silent')
  let asked = 0
  const before = Object.getOwnPropertyDescriptor(managed, 'capture') as PropertyDescriptor
  Object.defineProperty(managed, 'capture', {
    get() {
      asked++
      return before.get?.call(managed)
    },
  })
  sweep()
  t.equal(asked, 0)
})
