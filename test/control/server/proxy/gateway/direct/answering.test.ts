/** Heads of answers that come in pieces: read as if whole, and not copied with every piece. */
import t from 'tap'
import type { AnswerHead } from '../../../../../../control/core/channel/answer-head.ts'
import { none } from '../../../../../../control/core/channel/take-head.ts'
import type { State } from '../../../../../../control/server/proxy/gateway/direct/answer-state.ts'
import { head } from '../../../../../../control/server/proxy/gateway/direct/answering.ts'
import { messageOf } from '../../../../../../shared/errors.ts'

/** What was read of a text in pieces of `size`, and how often room was made for it. */
const read = (text: string, size: number) => {
  const found: AnswerHead[] = []
  const headersOf = (answer: AnswerHead) => {
    found.push(answer)
    throw new Error('enough')
  }
  const state = {
    seen: none,
    room: none,
    side: { turn: { request: { method: 'GET' } } },
    headersOf,
  } as unknown as State
  const bytes = Buffer.from(text)
  const rooms = new Set<Buffer>()
  let said = ''
  for (let at = 0; at < bytes.length && !said; at += size)
    try {
      head(state, Buffer.from(bytes.subarray(at, at + size)))
      rooms.add(state.room)
    } catch (error) {
      said = messageOf(error)
    }
  return { found, said, rooms: rooms.size }
}

t.test('a head is the same however it comes', async t => {
  const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
  const text = `${early}HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nhello`
  const whole = read(text, text.length)
  t.match(whole, { said: 'enough', found: [{ status: 200, framing: { bytes: 5 } }] })
  for (const size of [1, 2, 3, 4, 5, 7, early.length, early.length + 3])
    t.same(read(text, size).found, whole.found, `${size} bytes at a time`)
  t.match(read('HTTP/2 nothing', 1), { said: /no HTTP/, found: [] })
})

t.test('byte by byte it is not copied as often as it has bytes', async t => {
  const long = `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(60_000)}`
  t.match(read(`${long}\r\n\r\n`, 1), { said: 'enough', found: [{ status: 200 }] })
  t.ok(read(long, 1).rooms < 30, 'room is made by doubling')
  t.match(read(`${long}${'x'.repeat(6_000)}`, 1), { said: /too long/ })
})
