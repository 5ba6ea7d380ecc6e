import t from 'tap'
import {
  gapLine,
  prefixedBound,
  prefixLines,
  streamPrefixes,
  truncatedLine,
} from '../../../../daemon/process/output/lines.ts'

const prefixed = (text: string, inLine = false) => {
  const source = Buffer.from(text)
  const target = Buffer.alloc(prefixedBound(source.length))
  return target.toString('utf8', 0, prefixLines(source, 0, source.length, streamPrefixes[0], target, inLine))
}

t.test('every line begins with the prefix, also empty ones and an unfinished last one', t => {
  t.equal(prefixed('a\n\nb'), 'stdout:a\nstdout:\nstdout:b')
  t.equal(prefixed(''), '')
  t.equal(prefixed('\n'), 'stdout:\n')
  t.end()
})

t.test('a line that has its prefix gets no second one', t => {
  t.equal(prefixed('rest\nnext', true), 'rest\nstdout:next')
  t.end()
})

t.test('the bound holds for the worst case', t => {
  const text = '\n'.repeat(1000)
  t.equal(prefixed(text).length, 8000)
  t.ok(prefixedBound(1000) >= 8000)
  t.end()
})

t.test('markers begin as clients expect', t => {
  t.equal(truncatedLine(5), '[... truncated 5 bytes]')
  t.equal(gapLine(5, 9), '[... truncated 5 bytes, continues at cursor 9]')
  t.end()
})
