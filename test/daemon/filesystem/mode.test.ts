import t from 'tap'
import { parseMode, permissionsOf } from '../../../daemon/filesystem/mode.ts'

t.test('kernel modes as Go writes them', async t => {
  for (const [mode, text] of [
    [0o100644, '644'],
    [0o100000, '0'],
    [0o040755, '20000000755'],
    [0o120777, '1000000777'],
    [0o140755, '100000755'],
    [0o010644, '200000644'],
    [0o060660, '400000660'],
    [0o020666, '410000666'],
    [0o104755, '40000755'],
    [0o102755, '20000755'],
    [0o041777, '20004000777'],
  ] as const)
    t.equal(permissionsOf(mode), text, mode.toString(8))
})

t.test('octal texts', async t => {
  t.equal(parseMode('0644', 0), 0o644)
  t.equal(parseMode('755', 0), 0o755)
  t.equal(parseMode('4755', 0), 0o4755)
  t.equal(parseMode(undefined, 0o600), 0o600)
  t.equal(parseMode('', 0o600), 0o600)
  for (const bad of ['0o644', '8', '10000', '-1', ' 644', 'x'])
    t.throws(() => parseMode(bad, 0), { code: 'invalid_argument' }, bad)
})
