/**
 * A server, what it has started and the machines of its sandboxes are killed at random moments while people make, fill, use, resize, leave
 * alone and delete sandboxes, and an operator takes backups. What was answered is so after every start, every answer is one that there is,
 * the bill has what ran and nothing twice, and in the end nothing is left on the box. `SEED=n` is the first of `SEEDS` (4), `SECONDS` (150)
 * are of each, on `RUNTIME` (crun).
 */

import t, { type Test } from 'tap'
import { openHierarchy } from '../../control/drivers/oci/cgroup/hierarchy.ts'
import { twice, withStore } from '../support/bill.ts'
import { runCommand } from '../support/command.ts'
import { whyNoMachines } from '../support/machine.ts'
import { loopsLeft } from '../support/oci.ts'
import { random } from '../support/random.ts'
import { billedAsleep, sureSleeps, unbilled, watchSleep, wholeBill } from '../support/random-kills/bill.ts'
import { census, leftOf } from '../support/random-kills/box.ts'
import { strike } from '../support/random-kills/killer.ts'
import { keepBackups, lookAtBackup } from '../support/random-kills/operator.ts'
import { person } from '../support/random-kills/person.ts'
import { newWorld } from '../support/random-kills/world.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'
import { until } from '../support/until.ts'

const runtime = process.env['RUNTIME'] ?? 'crun'
skipFile(whyNoMachines(runtime))

const first = Number(process.env['SEED'] ?? 1)
const seeds = Number(process.env['SEEDS'] ?? 4)
const ms = Number(process.env['SECONDS'] ?? 150) * 1000

const instances = (dataDir: string) => withStore(dataDir, store => store.instances.every())

let sleepsSeen = 0

const play = async (t: Test, seed: number): Promise<void> => {
  // Its members count from the next start on.
  const env: Record<string, string> = { HUTCH_RUNTIME: runtime, HUTCH_STANDBY_SECONDS: '1' }
  const s = await server(t, env)
  const hierarchy = await openHierarchy()
  // What the first machine makes once and stays is no leak.
  await s.call('POST', '/v0/sandboxes', { metadata: { name: 'first' }, spec: { runtime: { image: 'busybox' } } })
  await s.until('first', body => body.status === 'DEPLOYED')
  await s.call('DELETE', '/v0/sandboxes/first')
  await s.until('first', body => body.status === 'TERMINATED')
  await loopsLeft(s.dataDir)
  const empty = await census(s)
  await s.stop()
  env['HUTCH_WARM'] = 'busybox=2'
  await s.start()

  const world = newWorld(s)
  // Also when something goes wrong: nobody goes on beyond the test.
  t.teardown(() => {
    world.over = true
  })
  const stopWatching = watchSleep(hierarchy, s.names.cgroup)
  const people = ['ann', 'bob', 'cy', 'dee'].map((word, at) => person(world, random(seed * 100 + at), word))
  const lives = people.map(({ live }) => live())
  const backups = keepBackups(t, world, people)
  await strike(world, { chance: random(seed), hierarchy, ms })
  world.over = true
  await Promise.all(lives)
  const backup = await backups
  for (const { look } of people) await look()
  const slept = await stopWatching()
  t.comment(`seed ${seed}: ${JSON.stringify(Object.fromEntries([...world.tally].toSorted()))}`)
  t.same(world.odd, [], 'what was answered is so, and every answer is one there is')

  for (const { clear } of people) await clear()
  const gone = async () => (await instances(s.dataDir)).every(({ owner }) => owner.kind !== 'sandbox')
  await until(gone, 'the machines of all sandboxes to go')
  delete env['HUTCH_WARM']
  t.equal(await s.stop(), 0)
  await s.start()
  await until(async () => (await instances(s.dataDir)).length === 0, 'machines made ahead of need to go')
  await until(async () => (await census(s))['machine directories'] === 0, 'their directories to go')
  await loopsLeft(s.dataDir)
  t.same(await census(s), empty, 'the box is as it was before the first sandbox')
  t.match(await (await fetch(`${s.url}/healthz`)).json(), { status: 'ok' })
  t.equal(await s.stop(), 0)
  t.same(leftOf(s), [], 'nothing is left on the box')

  const bill = await wholeBill(s.dataDir)
  t.ok(bill.length > 0 && world.used.length > 0, 'there is a bill, and there was use')
  t.same(twice(bill), [], 'no time is billed twice')
  t.same(
    bill.filter(({ to }) => to === null),
    [],
    'what is gone costs nothing',
  )
  t.same(unbilled(world, bill), [], 'what ran is on the bill')
  const sleeps = sureSleeps(world, slept)
  sleepsSeen += sleeps.length
  t.same(billedAsleep(sleeps, bill), [], 'what slept is not on the bill as running')
  t.match(await runCommand(['audit', 'verify'], { HUTCH_DATA_DIR: s.dataDir }), { code: 0 })
  t.ok(backup, 'a backup was made')
  if (backup) t.same(await lookAtBackup(t, env, backup), [], 'a server made from the last backup has what was in it')
}

for (let seed = first; seed < first + seeds; seed++) t.test(`seed ${seed}`, t => play(t, seed))

t.test('the bill was held against sleeps', async t => t.ok(sleepsSeen > 0, `${sleepsSeen} sleeps`))
