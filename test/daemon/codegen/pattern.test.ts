import t from 'tap'
import { compilePattern } from '../../../daemon/codegen/pattern.ts'

t.test('finds matches line by line', async t => {
  const pattern = compilePattern('a+\\s*b?')
  t.same(JSON.parse(JSON.stringify(pattern.lines(['xaab\nnothing\na\nb', 'none', 'caab a']))), [
    [
      { line: 1, start: 0, text: 'xaab', isLast: false, spans: [[1, 4]] },
      { line: 3, start: 13, text: 'a', isLast: false, spans: [[0, 1]] },
    ],
    [],
    [
      {
        line: 1,
        start: 0,
        text: 'caab a',
        isLast: true,
        spans: [
          [1, 4],
          [5, 6],
        ],
      },
    ],
  ])
  t.same([...pattern.test(['cab', 'xyz', 'cab'])], [true, false, true], 'the place of the last match is forgotten')
  t.same([...compilePattern('A', { ignoreCase: true }).test(['a'])], [true])
  t.same([...compilePattern('A').test(['a'])], [false])
})

t.test('what would fit into no answer is not listed', t => {
  const placesIn = (texts: string[]) =>
    compilePattern('a')
      .lines(texts)
      .map(found => found.reduce((sum, { spans }) => sum + spans.length, 0))
  t.same(placesIn(['a'.repeat(200_000), 'a']), [100_000, 0])
  t.same(placesIn([`${'a'.repeat(2_000_000)}\na`]), [1], 'lines of more than a megabyte are passed over')
  t.end()
})

t.test('what is no expression is refused', async t => {
  t.throws(() => compilePattern('('), { code: 'unprocessable', message: /invalid pattern/ })
})

t.test('an expression that would take for ever is ended, and stays ended', async t => {
  const pattern = compilePattern('^(a+)+$', { budgetMs: 200 })
  const text = `${'a'.repeat(60)}!`
  t.throws(() => pattern.test([text]), { code: 'unprocessable', message: /takes more than/ })
  t.throws(() => pattern.test(['a']), { code: 'unprocessable' })
})
