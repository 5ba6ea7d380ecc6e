import t from 'tap'
import { hourMs, rangesOf } from '../../../../../control/core/store/sqlite/ranges.ts'
import { dice } from '../../../../support/records.ts'

const at = (text: string) => Date.parse(text)
const shown = (from: string, to: string) =>
  rangesOf(at(from), at(to)).map(range => [
    new Date(range.from).toISOString().slice(0, 16),
    new Date(range.to).toISOString().slice(0, 16),
    range.grain,
  ])

t.test('a window is months, days and hours inside, and pieces of an hour at its ends', async t => {
  t.same(shown('2025-12-30T22:30Z', '2026-03-02T01:15Z'), [
    ['2025-12-30T22:30', '2025-12-30T23:00', 'part'],
    ['2025-12-30T23:00', '2025-12-31T00:00', 0],
    ['2025-12-31T00:00', '2026-01-01T00:00', 1],
    ['2026-01-01T00:00', '2026-03-01T00:00', 2],
    ['2026-03-01T00:00', '2026-03-02T00:00', 1],
    ['2026-03-02T00:00', '2026-03-02T01:00', 0],
    ['2026-03-02T01:00', '2026-03-02T01:15', 'part'],
  ])
  t.same(shown('2026-01-01T00:00Z', '2026-02-01T00:00Z'), [['2026-01-01T00:00', '2026-02-01T00:00', 2]])
  t.same(shown('2026-01-01T10:50Z', '2026-01-01T11:10Z'), [
    ['2026-01-01T10:50', '2026-01-01T11:00', 'part'],
    ['2026-01-01T11:00', '2026-01-01T11:10', 'part'],
  ])
  t.same(shown('2026-01-01T10:10Z', '2026-01-01T10:20Z'), [['2026-01-01T10:10', '2026-01-01T10:20', 'part']])
  t.same(shown('2026-01-01T10:10Z', '2026-01-01T10:10Z'), [])
})

t.test('any window is covered once, and no piece reaches over an hour', async t => {
  const roll = dice(3)
  for (let round = 0; round < 500; round++) {
    const from = Math.floor(roll() * 2e12)
    const to = from + Math.floor(roll() ** 6 * 1e11) + 1
    const ranges = rangesOf(from, to)
    const whole =
      ranges[0]?.from === from &&
      ranges.at(-1)?.to === to &&
      ranges.every((range, index) => range.to === (ranges[index + 1]?.from ?? to)) &&
      ranges.every(
        ({ grain, from, to }) => grain !== 'part' || Math.floor(from / hourMs) === Math.floor((to - 1) / hourMs),
      )
    if (!whole) t.fail(`${from} to ${to}`, { ranges })
  }
  t.pass('every window is whole')
})
