import t from 'tap'
import { bucketsOf, resolutionOf } from '../../../../control/core/metering/window.ts'
import { parseUtcTime, type Resolution } from '../../../../shared/wire/billing.ts'

const day = 86_400_000
const at = (text: string) => Date.parse(text)
const window = (from: string, to: string) => ({ from: at(from), to: at(to) })
const shown = (from: string, to: string, resolution: Resolution) =>
  bucketsOf(window(from, to), resolution).map(start => new Date(start).toISOString())

t.test('times are RFC 3339 in UTC, and nothing else', async t => {
  const good: [string, string][] = [
    ['2026-01-31T00:00:00Z', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31t00:00:00z', '2026-01-31T00:00:00.000Z'],
    ['2024-02-29T23:59:59.1239Z', '2024-02-29T23:59:59.123Z'],
    ['2026-01-31T10:00:00.5+00:00', '2026-01-31T10:00:00.500Z'],
    ['2026-01-31T10:00:00-00:00', '2026-01-31T10:00:00.000Z'],
  ]
  for (const [text, wanted] of good) t.equal(parseUtcTime(text), at(wanted), text)
  const bad = [
    '',
    'yesterday',
    '2026-01-31',
    '2026-01-31T00:00Z',
    '2026-01-31 00:00:00Z',
    '2026-01-31T00:00:00',
    '2026-01-31T00:00:00+02:00',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '0001-01-01T00:00:00Z',
    '1769817600',
    '1769817600000',
  ]
  for (const text of bad) t.equal(parseUtcTime(text), undefined, text)
})

t.test('the resolution follows the length of the window', async t => {
  const from = at('2026-01-01T00:00:00Z')
  const cases: [number, Resolution][] = [
    [7 * day - 1, 'hourly'],
    [7 * day, 'daily'],
    [90 * day - 1, 'daily'],
    [90 * day, 'weekly'],
    [365 * day - 1, 'weekly'],
    [365 * day, 'monthly'],
    [4000 * day, 'monthly'],
  ]
  for (const [length, wanted] of cases)
    t.equal(resolutionOf({ from, to: from + length }, undefined), wanted, `${length / day} days`)
})

t.test('a resolution has a cap, and the cap itself is allowed', async t => {
  const from = at('2026-01-01T00:00:00Z')
  for (const [resolution, days] of [
    ['hourly', 7],
    ['daily', 90],
    ['weekly', 365],
  ] as const) {
    t.equal(resolutionOf({ from, to: from + days * day }, resolution), resolution)
    t.throws(() => resolutionOf({ from, to: from + days * day + 1 }, resolution), {
      code: 'invalid_argument',
      details: { field: 'resolution' },
    })
  }
  t.equal(resolutionOf({ from, to: from + 40_000 * day }, 'monthly'), 'monthly')
  t.equal(resolutionOf({ from, to: from + 1 }, 'monthly'), 'monthly', 'a coarser one than needed is allowed')
  t.equal(
    resolutionOf(window('2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z'), 'weekly'),
    'weekly',
    'a leap year is one',
  )
})

t.test(
  'buckets start on the hour, day, Monday and first of UTC, the first of them maybe before the window',
  async t => {
    t.same(shown('2026-01-01T10:30:00Z', '2026-01-01T12:00:01Z', 'hourly'), [
      '2026-01-01T10:00:00.000Z',
      '2026-01-01T11:00:00.000Z',
      '2026-01-01T12:00:00.000Z',
    ])
    t.same(shown('2026-01-01T00:00:00Z', '2026-01-03T00:00:00Z', 'daily'), [
      '2026-01-01T00:00:00.000Z',
      '2026-01-02T00:00:00.000Z',
    ])
    // 2026-01-01 is a Thursday of the week that began on Monday, 29 December.
    t.same(shown('2026-01-01T00:00:00Z', '2026-01-12T00:00:00Z', 'weekly'), [
      '2025-12-29T00:00:00.000Z',
      '2026-01-05T00:00:00.000Z',
    ])
    t.same(shown('2026-01-31T23:00:00Z', '2026-03-01T00:00:01Z', 'monthly'), [
      '2026-01-01T00:00:00.000Z',
      '2026-02-01T00:00:00.000Z',
      '2026-03-01T00:00:00.000Z',
    ])
  },
)
