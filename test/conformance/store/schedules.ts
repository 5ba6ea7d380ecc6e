import type { Test } from 'tap'
import type { ScheduleRun } from '../../../control/core/store/store.ts'
import type { Open } from '../store.ts'

const run = (id: string, change: Partial<ScheduleRun> = {}): ScheduleRun => ({
  id,
  owner: 'u1',
  workspace: 'w',
  sandbox: 'web',
  schedule: 'nightly',
  status: 'submitting',
  statusCode: 0,
  processName: '',
  timeoutS: 600,
  error: '',
  catchUp: false,
  dueAt: 1_000,
  createdAt: 1_000,
  ...change,
})

export const schedulesSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('runs of schedules: the newest of each are kept, and listed in order', async t => {
    const store = await open(t)
    const ids = ['a', 'b', 'c', 'd']
    for (const [at, id] of ids.entries())
      await store.apply([{ type: 'addScheduleRun', run: run(id, { createdAt: at }), keep: 3 }], at)
    await store.apply([{ type: 'addScheduleRun', run: run('e', { schedule: 'other', createdAt: 9 }), keep: 3 }], 9)
    const asked = { workspace: 'w', order: 'desc', limit: 2 } as const
    const first = await store.schedules.runs(asked)
    t.same(
      first.runs.map(({ id }) => id),
      ['e', 'd'],
    )
    const second = await store.schedules.runs({ ...asked, after: first.next })
    t.same(
      second.runs.map(({ id }) => id),
      ['c', 'b'],
      'the oldest of four has given way, and the other schedule has its own three',
    )
    t.equal(second.next, undefined)
    const oldest = await store.schedules.runs({ workspace: 'w', order: 'asc', limit: 10, since: 2, until: 3 })
    t.same(
      oldest.runs.map(({ id }) => id),
      ['c', 'd'],
      'both ends included',
    )
    t.same((await store.schedules.runs({ ...asked, workspace: 'other' })).runs, [], 'of one workspace')
    t.equal(await store.schedules.count('w', 'u1'), 4)
  })

  await t.test('a run ends once it is kept, and is found until then', async t => {
    const store = await open(t)
    await store.apply([{ type: 'addScheduleRun', run: run('a'), keep: 10 }], 1)
    t.same(await store.schedules.unfinished(), [run('a')])
    const result = { status: 'failed', statusCode: 0, processName: '', error: 'Cannot be reached' } as const
    await store.apply([{ type: 'endScheduleRun', id: 'a', result }], 2)
    await store.apply([{ type: 'endScheduleRun', id: 'gone', result }], 2)
    t.same(await store.schedules.unfinished(), [])
    t.same((await store.schedules.runs({ workspace: 'w', order: 'desc', limit: 9, q: 'be reached' })).runs, [
      run('a', result),
    ])
    t.same(await store.schedules.tally('w', 0, 5_000), { succeeded: 0, failed: 1, submitting: 0 })
    t.same(await store.schedules.tally('w', 2_000, 5_000), { succeeded: 0, failed: 0, submitting: 0 })
  })
}
