import t from 'tap'
import { createEnvironment } from '../../daemon/environment.ts'

t.test('a reload sets what it brings and removes what the last one brought', async t => {
  const live = createEnvironment({ BOOT: '1', KEEP: 'k' })
  t.same(live.reload({ A: 'a', B: 'b', BOOT: '2' }), { applied: 3, removed: 0 })
  t.same(live.all(), { BOOT: '2', KEEP: 'k', A: 'a', B: 'b' })
  t.same(live.reload({ A: 'x' }), { applied: 1, removed: 2 })
  t.same(live.all(), { KEEP: 'k', A: 'x' }, 'one present since boot goes too, one never seen stays')
})

t.test('a copy is a copy', async t => {
  const base = { A: '1' }
  const live = createEnvironment(base)
  live.all()['A'] = '2'
  live.set('B', 'b')
  t.same(base, { A: '1' })
  t.equal(live.get('A'), '1')
})

t.test('changes carry over to the next daemon', async t => {
  const base = { A: '1', B: '2', C: '3' }
  const live = createEnvironment(base)
  live.set('A', 'x')
  live.unset('B')
  live.set('D', '4')
  t.same(live.changes(), { A: 'x', B: null, D: '4' })
  t.same(createEnvironment(base, live.changes()).all(), live.all())
})
