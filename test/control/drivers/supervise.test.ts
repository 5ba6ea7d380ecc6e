import t from 'tap'
import { fakeDriver, type Faults } from '../../../control/drivers/fake/index.ts'
import { supervise } from '../../../control/drivers/supervise.ts'
import { systemClock } from '../../../shared/clock.ts'
import { jsonLog } from '../../../shared/log.ts'
import { fail } from '../../../shared/errors.ts'

// Deadlines do not keep a process alive; something has to while they are waited for.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const spec = { id: 'a', rootfs: '/', memoryMb: 256, cpus: 1, hostname: 'a', env: { KEY: 'tenant' }, workdir: '/' }

const supervised = (faults: Faults, createMs = 60_000) => {
  const lines: string[] = []
  const log = jsonLog({ level: 'debug', now: () => 0, write: line => void lines.push(line) })
  return { lines, driver: supervise(fakeDriver({ faults }), { log, clock: systemClock(), deadlines: { createMs } }) }
}

t.test('what is not an error of ours is mapped to driver and verb, with its cause', async t => {
  const cause = new Error('no space left')
  const { driver, lines } = supervised(() => {
    throw cause
  })
  await t.rejects(driver.create(spec), {
    code: 'driver_failed',
    details: { driver: 'fake', step: 'create', reason: 'no space left' },
    cause,
  })
  t.match(lines, [/"level":"warn","event":"driver.create.failed","driver":"fake","machine":"a"/])
})

t.test('an error of ours passes as it is', async t => {
  const { driver } = supervised(() => {
    throw fail('busy', { what: 'full', next: 'wait' })
  })
  await t.rejects(driver.create(spec), { code: 'busy' })
})

t.test('a verb that does not end is given up at its deadline, and hears so', async t => {
  let heard: unknown
  const { driver } = supervised(
    (_, __, signal) =>
      new Promise(() => {
        signal?.addEventListener('abort', () => {
          heard = signal.reason
        })
      }),
    20,
  )
  await t.rejects(driver.create(spec), { code: 'timed_out' })
  t.match(heard, { code: 'timed_out' })
})

t.test("the caller's own abort comes back as the caller's reason", async t => {
  const { driver } = supervised(() => new Promise(() => {}))
  const control = new AbortController()
  const creating = driver.create(spec, control.signal)
  const reason = new Error('changed my mind')
  control.abort(reason)
  await t.rejects(creating, reason)
  await t.rejects(driver.list(control.signal), reason)
})

t.test('every verb is passed on, each with a line, and no environment in any', async t => {
  const { driver, lines } = supervised(() => {})
  await driver.create(spec)
  await driver.freezer?.freeze('a')
  t.match(await driver.list(), [{ id: 'a', phase: 'frozen' }])
  await driver.freezer?.reclaim?.('a', new AbortController().signal)
  await driver.freezer?.thaw('a')
  t.ok(await driver.stats('a'))
  await driver.remove('a')
  t.equal((await driver.probe()).usable, true)
  const events = lines.map(line => (JSON.parse(line) as { event: string }).event)
  for (const verb of ['create', 'freeze', 'reclaim', 'list', 'thaw', 'stats', 'remove', 'probe'])
    t.ok(events.includes(`driver.${verb}`), verb)
  t.notMatch(lines.join(), 'tenant')
})

t.test('that only its daemon is waited for is told to whoever creates', async t => {
  const { driver } = supervised(() => {})
  let told = 0
  await driver.create(spec, undefined, () => told++)
  t.equal(told, 1)
})
