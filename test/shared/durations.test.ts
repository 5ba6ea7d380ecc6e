import t from 'tap'
import { durationMs } from '../../shared/durations.ts'

t.test('a number and a unit', async t => {
  for (const [text, ms] of [
    ['0s', 0],
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['2w', 1_209_600_000],
  ] as const)
    t.equal(durationMs(text, 'ttl'), ms)
  for (const text of [
    '',
    '10',
    's',
    '-1s',
    '1.5h',
    '1h30m',
    '1 h',
    '1H',
    '1y',
    ' 1h',
    '1h\n',
    '9'.repeat(20).concat('s'),
    '0x1s',
  ])
    t.throws(() => durationMs(text, 'ttl'), { code: 'invalid_argument', message: /^ttl: must be an integer/ }, text)
})
