import t from 'tap'
import { createCursors } from '../../../../control/base/wire/cursors.ts'
import { fakeClock } from '../../../support/clock.ts'

const binding = { list: 'sandboxes', workspace: 'a', q: undefined, status: ['DEPLOYED', 'FAILED'] }
const position = { value: 'x', uid: 'u' }

t.test('a cursor gives back its position to the query it came from', async t => {
  const cursors = createCursors({ key: 'k', clock: fakeClock() })
  const cursor = cursors.issue(binding, position)
  t.same(cursors.read({ ...binding }, cursor), position)
  t.same(cursors.read({ status: binding.status, workspace: 'a', list: 'sandboxes' }, cursor), position, 'in any order')
  t.notMatch(cursor, /sandboxes|DEPLOYED/, 'and does not show it')
})

t.test('a cursor of another query is refused', async t => {
  const cursors = createCursors({ key: 'k', clock: fakeClock() })
  const cursor = cursors.issue(binding, position)
  const others = [
    { ...binding, workspace: 'b' },
    { ...binding, list: 'models' },
    { ...binding, q: 'x' },
    { ...binding, status: ['DEPLOYED'] },
    { ...binding, status: undefined },
  ]
  for (const other of others)
    t.throws(() => cursors.read(other, cursor), { code: 'invalid_argument', details: { field: 'cursor' } })
})

t.test('an altered, foreign or shapeless cursor is refused', async t => {
  const clock = fakeClock()
  const cursors = createCursors({ key: 'k', clock })
  const cursor = cursors.issue(binding, position)
  const [payload = '', signature = ''] = cursor.split('.')
  const other = Buffer.from(JSON.stringify([clock.now(), { value: 'y', uid: 'u' }])).toString('base64url')
  const odd = [
    '',
    '.',
    'x',
    '..',
    payload,
    `${payload}.`,
    `.${signature}`,
    `${other}.${signature}`,
    `${cursor}.`,
    `${cursor}x`,
    createCursors({ key: 'other', clock }).issue(binding, position),
    'é\u0000',
  ]
  for (const text of odd)
    t.throws(() => cursors.read(binding, text), { code: 'invalid_argument', details: { field: 'cursor' } }, text)
})

t.test('a cursor lasts 24 hours', async t => {
  const clock = fakeClock()
  const cursors = createCursors({ key: 'k', clock })
  const cursor = cursors.issue(binding, position)
  await clock.tick(24 * 3_600_000)
  t.same(cursors.read(binding, cursor), position)
  await clock.tick(1)
  t.throws(() => cursors.read(binding, cursor), { message: /older than 24 hours/ })
})
