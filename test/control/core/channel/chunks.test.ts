import t from 'tap'
import { newChunks, readChunks } from '../../../../control/core/channel/chunks.ts'

/** What is body of the text, given in pieces of `size`; how much was read, and whether that was all. */
const read = (text: string, size = text.length) => {
  const state = newChunks()
  let body = ''
  let count = 0
  for (let at = 0; at < text.length && state.at !== 'over'; at += size)
    count += readChunks(state, Buffer.from(text.slice(at, at + size), 'latin1'), piece => {
      body += piece.toString('latin1')
    })
  return { body, count, isOver: state.at === 'over' }
}

t.test('a body is the same however it is cut', async t => {
  const text = '3\r\nabc\r\n00A;x="y"\r\n0123456789\r\n0\r\nA: b\r\nC: d\r\n\r\n'
  for (let size = 1; size <= text.length; size++)
    t.same(read(text, size), { body: 'abc0123456789', count: text.length, isOver: true }, `${size} bytes at a time`)
})

t.test('what follows it is not read', async t => {
  t.same(read('1\r\na\r\n0\r\n\r\nHTTP/1.1 200'), { body: 'a', count: 11, isOver: true })
})

t.test('an end that has not come is no end', async t => {
  for (const text of ['', '3\r\nabc', '3\r\nabc\r\n', '3\r\nabc\r\n0\r\n', '3\r\nabc\r\n0\r\nA: b\r\n'])
    t.equal(read(text).isOver, false, JSON.stringify(text))
})

t.test('what is odd is an error', async t => {
  const bad = [
    'zz\r\n',
    '\r\n',
    ' 3\r\nabc',
    '+3\r\nabc',
    '0x3\r\nabc',
    '-1\r\n',
    '3\nabc',
    '3\r\nabcd\r\n',
    '3\r\nabc\n',
    '3;a\rb\r\nabc',
    '3;a\0\r\nabc',
    '99999999999999\r\n',
    `${'0'.repeat(5_000)}`,
    '0\r\nno trailer\r\n\r\n',
    '0\r\n A: b\r\n\r\n',
    '0\r\n\n',
    `0\r\n${'A: b\r\n'.repeat(20_000)}`,
  ]
  for (const text of bad) t.throws(() => read(text), /not in chunks/, JSON.stringify(text.slice(0, 30)))
})
