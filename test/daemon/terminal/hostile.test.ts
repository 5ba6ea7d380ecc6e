/** Clients of a terminal that do not behave: the session stays what it was, and the daemon's memory is bounded. */
import { once } from 'node:events'
import t from 'tap'
import { daemonServer, type Options } from '../../support/daemon.ts'
import { open, type, type Terminal } from '../../support/terminal.ts'

const options: Options = { env: { SHELL: '/bin/sh', PS1: '$ ' } }
const closed = async ({ socket }: Terminal): Promise<number> => (await once(socket, 'close'))[0]

t.test('sizes that make no sense, frames that are none, frames for nobody', async t => {
  const { url } = await daemonServer(t, options)
  const wild = await open(t, url, '?cols=-5&rows=99999&sessionId=wild')
  type(wild, 'stty size; echo size-$((1+1))\r')
  t.match(await wild.until(/size-2/), /\b24 80\r/, 'the defaults')
  const sizes = [
    [70_000, 40],
    [-1, 40],
    [40, -1],
    [0, 0],
    [1.5, 2],
    ['100', '30'],
    [null, 7],
    [1e300, 1],
  ]
  for (const [cols, rows] of sizes) wild.send({ type: 'resize', cols, rows })
  for (const frame of [
    '',
    '{',
    'null',
    '[]',
    '7',
    '"input"',
    '{"type":"input"}',
    '{"type":"input","data":7}',
    '[['.repeat(9000),
  ])
    wild.send(frame)
  wild.socket.send(Buffer.from(JSON.stringify({ type: 'input', data: 'echo binary-$((2+2))\r' })), { binary: true })
  wild.send({ type: 'error', data: 'x' })
  type(wild, 'stty size; echo still-$((3+3))\r')
  const shown = await wild.until(/still-6/)
  t.equal(shown.match(/\b24 80\r/g)?.length, 2)
  t.notMatch(shown, /binary-4/, 'frames are text')
  wild.send({ type: 'resize', cols: 65_535, rows: 65_535 })
  type(wild, 'stty size\r')
  await wild.until(/65535 65535/)
})

t.test('a frame beyond 4 MiB closes its socket and nothing else', async t => {
  const { url } = await daemonServer(t, options)
  const large = await open(t, url)
  const other = await open(t, url)
  large.socket.on('error', () => undefined)
  type(large, 'x'.repeat(4 * 1024 * 1024))
  t.equal(await closed(large), 1009)
  type(other, 'echo here-$((1+2))\r')
  await other.until(/here-3/)
})

t.test('who does not read misses what is too much, and is told how much', async t => {
  const { url } = await daemonServer(t, options)
  const fast = await open(t, url)
  type(fast, 'echo ready-$((1+1))\r')
  await fast.until(/ready-2\r\n\$ /)
  const slow = await open(t, url)
  await slow.until(/ready-2\r\n\$ /)
  const before = [fast, slow].map(({ sent }) => sent.length)
  slow.socket.pause()
  type(fast, 'yes 0123456789 | head -n 3000000; echo end-$((1+1))\r')
  const after = ({ sent }: Terminal, from = 0) => sent.slice(from).map(({ data }) => data)
  // Looking at all of it for each piece would take longer than the flood.
  const over = (terminal: Terminal) =>
    new Promise<void>(resolve => {
      const look = () => {
        if (!after(terminal, -5).join('').endsWith('end-2\r\n$ ')) return
        terminal.socket.off('message', look)
        resolve()
      }
      terminal.socket.on('message', look)
    })
  await over(fast)
  const seen = over(slow)
  slow.socket.resume()
  await seen
  const [whole = '', part = ''] = [fast, slow].map((terminal, index) => after(terminal, before[index]).join(''))
  t.equal(whole.match(/0123456789\r\n/g)?.length, 3_000_000, 'nobody else misses anything')
  const gaps = [
    ...part.matchAll(/\x1b\[0m\r\n\[\.\.\. (\d+) characters not shown: this client reads too slowly\]\r\n/g),
  ]
  t.ok(gaps.length > 0)
  const lost = gaps.reduce((sum, [, count]) => sum + Number(count), 0)
  const told = gaps.reduce((sum, [text]) => sum + text.length, 0)
  t.equal(part.length - told + lost, whole.length, 'every character was shown or is counted')
})

t.test('what nobody reads is not piled up', async t => {
  const { url } = await daemonServer(t, options)
  const deaf = await open(t, url)
  type(deaf, `stty raw -echo; echo deaf-$((1+1)); exec sleep 1000\r`)
  await deaf.until(/deaf-2/)
  for (let i = 0; i < 4; i++) type(deaf, 'y'.repeat(1024 * 1024))
  t.equal(await closed(deaf), 1013)
})

t.test('256 sessions and no more; the end of one makes room', async t => {
  const { url } = await daemonServer(t, options)
  const all: Terminal[] = []
  for (let i = 0; i < 256; i++) all.push(await open(t, url, `?sessionId=s${i}`))
  for (const [index, terminal] of all.entries()) type(terminal, `echo mine-$((${index}+1000)).\r`)
  await Promise.all(all.map((terminal, index) => terminal.until(new RegExp(`mine-${index + 1000}\\.`))))
  const tooMany = await open(t, url, '?sessionId=more')
  t.equal(await closed(tooMany), 1011)
  t.match(tooMany.sent, [{ type: 'error', data: /there are 256 terminals/ }])
  const shared = await open(t, url, '?sessionId=s7')
  await shared.until(/mine-1007/)
  const [first] = all as [Terminal]
  type(first, 'exit\r')
  await closed(first)
  const next = await open(t, url, '?sessionId=more')
  type(next, 'echo room-$((1+1))\r')
  await next.until(/room-2/)
})

t.test('a storm of clients that come and go leaves the session alone', async t => {
  const { url } = await daemonServer(t, options)
  const steady = await open(t, url, '?cols=100&rows=30')
  type(steady, 'x=steady; echo up-$((1+1))\r')
  await steady.until(/up-2/)
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const one = await open(t, url, `?cols=${index + 1}&rows=10`)
      if (index % 2 === 0) type(one, `echo ${index} >/dev/null\r`)
      one.socket.terminate()
    }),
  )
  const last = await open(t, url, '?cols=61&rows=17')
  type(last, 'stty size; echo "$x-$((2+2))"\r')
  t.match(await last.until(/steady-4/), /\b17 61\r/, 'the last one’s size counts')
  await steady.until(/steady-4/)
})
