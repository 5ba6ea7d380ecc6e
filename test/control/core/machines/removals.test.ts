/** Machines that do not end take nobody else's turn, neither that of machines that start nor that of others that go. */
import t, { type Test } from 'tap'
import { fail } from '../../../../shared/errors.ts'
import type { Resource } from '../../../../control/core/store/store.ts'
import { createRemovals, inRemovalTurn } from '../../../../control/core/machines/removals.ts'
import { fakeClock } from '../../../support/clock.ts'
import { runner, type TestRunner } from '../../../support/runner.ts'

const settle = async ({ clock }: TestRunner) => {
  for (let turn = 0; turn < 5; turn++) await clock.tick(1)
}

const statusOf = async ({ store }: TestRunner, uid: string) => (await store.resources.getByUid(uid))?.status

const restart = async ({ store, transition, runner: { poke } }: TestRunner, { uid }: Resource): Promise<void> => {
  const [record, [instance]] = [await store.resources.getByUid(uid), await store.instances.ofOwner(uid)]
  if (!record || !instance) throw new Error('it is not there')
  await transition.write([
    { record, event: { name: 'restart', message: 'restarted' } },
    { instance, event: 'restart' },
  ])
  poke('crew', uid)
}

/** One that runs and ends as it should, and 40 that do not end, or cannot be made and do not go then. */
const made = async (t: Test, { canStart }: { readonly canStart: boolean }) => {
  const asked: string[] = []
  const ill = new Set<string>()
  const now = { isIll: false }
  const one = await runner(t, {
    faults(point, id) {
      if (point === 'create.before' && now.isIll) ill.add(id)
      if (!ill.has(id)) return
      if (point === 'create.before' && !canStart) throw fail('not_available', { what: 'image' })
      if (point !== 'remove.before' && point !== 'end') return
      asked.push(id)
      return new Promise<never>(() => {})
    },
  })
  const leaving = await one.create('crew', 'leaving', {})
  await settle(one)
  now.isIll = true
  const stuck = await Promise.all(Array.from({ length: 40 }, (_, at) => one.create('crew', `stuck-${at}`, {})))
  await settle(one)
  now.isIll = false
  return { one, asked, leaving, stuck }
}

const ways: Readonly<Record<string, { canStart: boolean; go(one: TestRunner, record: Resource): Promise<unknown> }>> = {
  'are deleted': { canStart: true, go: (one, { uid }) => one.move(uid, 'delete') },
  'are restarted': { canStart: true, go: restart },
  'could not be made': { canStart: false, go: async () => {} },
}

for (const [how, { canStart, go }] of Object.entries(ways))
  t.test(`however many machines do not end that ${how}, others start, and others go`, async t => {
    const { one, asked, leaving, stuck } = await made(t, { canStart })
    for (const record of stuck) await go(one, record)
    await settle(one)
    t.equal(asked.length, 32, 'a few at a time')
    const { uid } = await one.create('crew', 'other', {})
    await settle(one)
    t.equal(await statusOf(one, uid), 'DEPLOYED')
    await one.move(leaving.uid, 'delete')
    await settle(one)
    t.equal(await statusOf(one, leaving.uid), 'DELETING')
    await one.clock.tick(500)
    await settle(one)
    t.equal(await statusOf(one, leaving.uid), 'TERMINATED', 'and each for its turn')
  })

t.test('none that waits for its turn begins when the host goes', async t => {
  const removing = { removals: createRemovals(), clock: fakeClock() }
  const stop = new AbortController()
  const place = { leave: () => {}, signal: stop.signal }
  const door = Promise.withResolvers<void>()
  let begun = 0
  const all = Array.from({ length: 40 }, () =>
    inRemovalTurn(removing, place, () => {
      begun++
      return door.promise
    }),
  )
  const ends = Promise.allSettled(all)
  stop.abort()
  door.resolve()
  t.same(Object.groupBy(await ends, ({ status }) => status).rejected?.length, 8)
  t.equal(begun, 32)
})
