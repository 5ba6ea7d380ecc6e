import t from 'tap'
import { fuzzyScore } from '../../../../daemon/filesystem/search/fuzzy.ts'

const better = (query: string, more: string, less: string) => {
  const [high, low] = [fuzzyScore(query, more), fuzzyScore(query, less)]
  return high !== undefined && low !== undefined && high > low
}

t.test('points', async t => {
  t.equal(fuzzyScore('a', 'a'), 16 + 2 * 8)
  t.equal(fuzzyScore('ab', 'ab'), 16 + 2 * 8 + 16 + 8)
  t.equal(fuzzyScore('ab', 'axb'), 16 + 2 * 8 + 16 - 3)
  t.equal(fuzzyScore('ab', 'axxb'), 16 + 2 * 8 + 16 - 4)
  t.equal(fuzzyScore('abc', 'acb'), undefined)
  t.equal(fuzzyScore('', 'anything'), 0)
  t.equal(fuzzyScore('a', ''), undefined)
})

t.test('order of preference', async t => {
  t.ok(better('foo', 'src/foo.ts', 'src/xfoo.ts'), 'the beginning of a word')
  t.ok(better('fb', 'fooBar', 'foobar'), 'a hump')
  t.ok(better('abc', 'xabc', 'xaxbxc'), 'letters in a row')
  t.ok(better('main', 'src/main.go', 'mostly/additional/info/names'), 'not scattered')
})
