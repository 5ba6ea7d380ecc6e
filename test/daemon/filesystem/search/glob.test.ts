import t from 'tap'
import { glob } from '../../../../daemon/filesystem/search/glob.ts'

t.test('what matches and what does not', async t => {
  const cases: [string, string[], string[]][] = [
    ['*.go', ['a.go', '.go'], ['a.gox', 'go', 'A.GO']],
    ['a?c', ['abc', 'aüc', 'a😀c'], ['ac', 'abbc']],
    ['[a-c]x', ['ax', 'cx'], ['dx', 'Ax']],
    ['[^a-c]x', ['dx'], ['ax']],
    ['[!a]x', ['!x', 'ax'], ['bx']],
    ['[]a]x', [], ['ax', ']x']],
    ['[\\]]x', [']x'], ['\\x']],
    ['\\*', ['*'], ['a']],
    ['a.b', ['a.b'], ['axb']],
    ['*', ['', 'x'], []],
    ['**x', ['x', 'aax'], ['xa']],
    ['*a*b', ['ab', 'xaxb', 'aabb'], ['ba']],
    ['(a|b)+$', ['(a|b)+$'], ['a']],
    ['', [''], ['a']],
  ]
  for (const [pattern, yes, no] of cases) {
    for (const name of yes) t.ok(glob(pattern)(name), `${pattern} matches ${name}`)
    for (const name of no) t.notOk(glob(pattern)(name), `${pattern} does not match ${name}`)
  }
})

t.test('a malformed pattern matches nothing', async t => {
  for (const pattern of ['[', '[a', '[]', '[a-', '[a-]', '[-a]', 'a\\', '[^', '[\\'])
    for (const name of ['', 'a', pattern, '-', '[']) t.notOk(glob(pattern)(name), `${pattern} on ${name}`)
})

t.test('many stars take no time', async t => {
  t.notOk(glob(`${'*a'.repeat(60)}*b`)('a'.repeat(250)))
})
