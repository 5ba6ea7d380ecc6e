/** Bodies in chunks go past the streams too, however they are cut, and the parser goes on where the next request begins. */
import { randomBytes } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync, readdirSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { daemonServer } from '../../../support/daemon.ts'
import { draftsIn } from '../../../support/drafts.ts'
import { raw } from '../../../support/raw.ts'
import { smallDisk } from '../../../support/small-disk.ts'
import { until } from '../../../support/until.ts'

const MiB = 1024 * 1024
const boundary = 'formdata-0123456789'
const health = 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n'

const head = (path: string, type = 'application/octet-stream'): Buffer =>
  Buffer.from(`PUT ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`)

/** `body` in chunks of these sizes, over and over. */
const chunked = (body: Buffer, sizes: readonly number[], end = '0\r\n\r\n', extension = ''): Buffer => {
  const pieces: Buffer[] = []
  for (let at = 0, index = 0; at < body.length; index++) {
    const piece = body.subarray(at, at + (sizes[index % sizes.length] as number))
    pieces.push(Buffer.from(`${piece.length.toString(16)}${extension}\r\n`), piece, Buffer.from('\r\n'))
    at += piece.length
  }
  return Buffer.concat([...pieces, Buffer.from(end)])
}

const formOf = (content: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n`),
    content,
    Buffer.from(
      `\r\n--${boundary}\r\nContent-Disposition: form-data; name="permissions"\r\n\r\n0600\r\n--${boundary}--\r\n`,
    ),
  ])

/** Counts what Node gives to streams of bodies. */
const streamed = (t: Test): (() => number) => {
  let count = 0
  const watch = (published: unknown) => {
    const { request } = published as { request: IncomingMessage }
    const push = request.push.bind(request)
    request.push = piece => {
      count += piece?.length ?? 0
      return push(piece)
    }
  }
  subscribe('http.server.request.start', watch)
  t.teardown(() => unsubscribe('http.server.request.start', watch))
  return () => count
}

const answers = (text: string) => text.match(/HTTP\/1.1 \d\d\d/g)?.map(line => line.slice(-3)) ?? []

for (const [how, sizes] of Object.entries({
  'of one size': [65_536],
  'large ones': [3 * MiB],
  'of all sizes': [1, 5, 70_000, 2, 300_000, 4096, 262_144, 16],
  'tiny ones': [700, 3],
}))
  t.test(`raw bytes in chunks ${how}, and the next request on the connection`, async t => {
    const { port, dir } = await daemonServer(t)
    const count = streamed(t)
    const content = randomBytes(5 * MiB + 7)
    const one = await raw(t, port)
    one.send(Buffer.concat([head('/filesystem/f'), chunked(content, sizes), Buffer.from(health)]))
    await one.seen(/"status":"ok"/)
    t.same(answers(one.text()), ['200', '200'])
    t.ok(readFileSync(join(dir, 'f')).equals(content))
    t.ok(count() < MiB, `${count()} bytes went through a stream`)
  })

t.test('forms in chunks: the file goes past the parser, the fields do not', async t => {
  const { port, dir } = await daemonServer(t)
  const count = streamed(t)
  const content = randomBytes(4 * MiB)
  const one = await raw(t, port)
  for (const sizes of [[65_536], [100, 10_000, 7]]) {
    const body = chunked(formOf(content), sizes)
    one.send(Buffer.concat([head('/filesystem/f', `multipart/form-data; boundary=${boundary}`), body]))
    one.send(health)
    await one.seen(new RegExp(`("status":"ok"[^]*){${sizes.length === 1 ? 1 : 2}}`))
    t.ok(readFileSync(join(dir, 'f')).equals(content))
  }
  t.same(answers(one.text()), ['200', '200', '200', '200'])
  t.ok(count() < 3 * MiB, `${count()} bytes went through a stream`)
})

t.test('packets that end anywhere: in a head, a size, the data, its end, the last chunk', async t => {
  const { port, dir } = await daemonServer(t)
  const content = randomBytes(40)
  const extended = chunked(content, [20, 7], '0\r\nX-Sum: 1\r\n\r\n', ';a="b"')
  const request = Buffer.concat([head('/filesystem/f'), extended])
  const one = await raw(t, port)
  let sent = 0
  for (let cut = head('/filesystem/f').length - 3; cut < request.length; cut++) {
    one.send(request.subarray(0, cut))
    // So that the pieces arrive apart: another connection is answered in between.
    await (await fetch(`http://127.0.0.1:${port}/health`)).text()
    one.send(request.subarray(cut))
    sent++
    await until(async () => answers(one.text()).length === sent, `answer ${sent}`)
    t.ok(readFileSync(join(dir, 'f')).equals(content), `cut at ${cut}`)
  }
  t.same(new Set(answers(one.text())), new Set(['200']))
})

t.test('two requests in one packet, with the same first line', async t => {
  const { port, dir } = await daemonServer(t)
  const second = randomBytes(3000)
  const one = await raw(t, port)
  // The first one's body looks like a head and chunks.
  const decoy = Buffer.from('x\r\n\r\n5\r\nwrong\r\n0\r\n\r\n')
  const rest = chunked(second, [1000])
  const both = Buffer.concat([
    head('/filesystem/f'),
    chunked(decoy, [100]),
    head('/filesystem/f'),
    rest.subarray(0, 500),
  ])
  one.send(both)
  // Whoever writes a file twice at once does not know which it will be.
  await one.seen(/^HTTP\/1\.1 200/)
  one.send(rest.subarray(500))
  one.send(health)
  await one.seen(/"status":"ok"/)
  t.same(answers(one.text()), ['200', '200', '200'])
  t.ok(readFileSync(join(dir, 'f')).equals(second))
})

t.test('what is no chunk ends the connection with 400, and nothing is written', async t => {
  const { port, dir } = await daemonServer(t, { files: { f: 'old' } })
  for (const bad of ['zz\r\n', '5 6\r\n', '\n', '-1\r\n', '5\n', `${'0'.repeat(5000)}5\r\n`]) {
    const one = await raw(t, port)
    one.send(Buffer.concat([head('/filesystem/f'), chunked(randomBytes(MiB), [65_536], bad)]))
    one.send(health)
    const text = await one.ended
    t.notMatch(text, /HTTP\/1.1 200/, JSON.stringify(bad.slice(0, 10)))
    await until(async () => readdirSync(dir).length === 1, 'nothing to be left')
    t.equal(readFileSync(join(dir, 'f'), 'utf8'), 'old')
  }
})

t.test('a client that leaves in the middle of a chunk leaves the old file', async t => {
  const { port, dir } = await daemonServer(t, { files: { f: 'old' } })
  const one = await raw(t, port)
  one.send(Buffer.concat([head('/filesystem/f'), chunked(randomBytes(3 * MiB), [MiB])]).subarray(0, -MiB / 2))
  await until(async () => draftsIn(dir).length > 0, 'the beginning')
  one.socket.resetAndDestroy()
  await until(async () => draftsIn(dir).length === 0, 'it to be gone')
  t.same(readdirSync(dir), ['f'])
  t.equal(readFileSync(join(dir, 'f'), 'utf8'), 'old')
})

t.test('a full disk is answered, and the connection goes on wherever in its chunks the body was', async t => {
  const { port } = await daemonServer(t)
  const disk = smallDisk(t, 2)
  if (!disk) return void t.pass('no small disk: not tried', { skip: 'needs a mount of its own' })
  for (const sizes of [[65_536], [7 * MiB], [1000, 33]]) {
    const one = await raw(t, port)
    const path = `/filesystem${encodeURIComponent(join(disk, 'big'))}`
    one.send(Buffer.concat([head(path), chunked(randomBytes(6 * MiB), sizes), Buffer.from(health)]))
    const text = await one.seen(/"status":"ok"/)
    t.match(text, /^HTTP\/1.1 422[^]*ENOSPC/)
    t.same(readdirSync(disk), [])
  }
})
