/** Values that must not leave are looked for in what is coded, in WebSockets and in names, within bounds; `strict` lets nothing pass unread. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { decodingOf } from '../../../../control/network/egress/http/decode.ts'
import { startInternet } from '../../../support/internet/index.ts'
import { addresses, whyNoInternet } from '../../../support/internet/network.ts'
import { enterOwnNetwork } from '../../../support/tunnel-net.ts'
import { skipFile } from '../../../support/skip-file.ts'
import { until } from '../../../support/until.ts'

skipFile(whyNoInternet())
enterOwnNetwork()
const internet = await startInternet()
t.teardown(internet.close)
const { sandbox, egress, log } = internet
const value = 'Canary-of-the-mine'
const hold = (more: object = {}) => {
  egress.remove('sandbox')
  egress.setPolicy('sandbox', { canaries: { bird: value }, ...more })
}
const told = () =>
  egress
    .events('sandbox', 0, 1_000)
    .events.filter(({ kind }) => kind === 'canary')
    .map(({ reason, verdict, detail }) => `${reason} ${verdict} ${detail}`)
const found = 'canary allowed bird'
const host = 'open.example'
const post = (more: string, body: Buffer) => {
  const head = `POST http://${host}/post HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more}`
  return sandbox.say(Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]))
}
const coded = (coding: string, body: Buffer) => post(`Content-Encoding: ${coding}\r\n`, body)
const text = Buffer.from(`${'x'.repeat(70_000)} ${value} ${'y'.repeat(70_000)}`)
const moment = (ms = 100) => new Promise(resolve => setTimeout(resolve, ms))

t.test('in bodies however they are coded, which arrive as they were sent', async t => {
  const codings = {
    gzip: gzipSync(text),
    deflate: deflateSync(text),
    br: brotliCompressSync(text),
    zstd: zstdCompressSync(text),
  }
  for (const [coding, body] of Object.entries(codings)) {
    hold({ canary: 'strict' })
    t.match(await coded(coding, body), /^HTTP\/1\.1 200/, coding)
    t.ok(log.entries.at(-1)?.text.endsWith(body.toString('latin1')), coding)
    t.same(told(), [found], coding)
    hold({ canary: 'strict' })
    await coded(coding, coding === 'gzip' ? gzipSync('harmless') : Buffer.alloc(0))
    t.same(told(), [], coding)
  }
  hold()
  const h2 = await sandbox.h2(await sandbox.dial(addresses.single, 50_051), 'single.example:50051')
  const stream = h2.request({
    ':method': 'POST',
    ':path': '/',
    ':scheme': 'http',
    ':authority': 'single.example:50051',
    'content-type': 'application/grpc',
    'content-encoding': 'gzip',
  })
  const zipped = gzipSync(text)
  stream.write(zipped.subarray(0, 20))
  await moment(20)
  stream.end(zipped.subarray(20))
  stream.resume()
  await once(stream, 'end')
  t.same(told(), [found])
  h2.destroy()
})

t.test('of much that comes out of little so many pieces are looked at, and the rest waits', async t => {
  let looked = 0
  const waiting: (() => void)[] = []
  const over = new Promise<void>(done => {
    const decoder = decodingOf(['gzip'])?.begin({
      piece: () => looked++,
      mayGoOn: goOn => looked % 10 !== 0 || !waiting.push(goOn),
      gaveUp: t.fail,
    })
    decoder?.write(gzipSync(Buffer.alloc(1024 * 1024)), () => decoder.end(done))
  })
  for (let turn = 1; turn <= 3; turn++) {
    await moment()
    t.equal(looked, 10 * turn)
    waiting.pop()?.()
  }
  const going = setInterval(() => waiting.pop()?.(), 1)
  await over
  clearInterval(going)
  t.equal(looked, 64)
  hold()
  const body = gzipSync(Buffer.concat([Buffer.alloc(17 * 1024 * 1024), Buffer.from(value)]))
  const head = `POST http://${host}/post HTTP/1.1\r\nHost: ${host}\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`
  const senders = await Promise.all([sandbox.proxy(), sandbox.proxy()])
  for (const sender of senders) sender.write(Buffer.concat([Buffer.from(head), body]))
  await until(() => told().length === 2, 'two that are more than a sandbox has at once')
  t.same(told(), [found, found])
  const bytes = body.toString('latin1')
  await until(() => log.entries.slice(-2).every(({ text }) => text.endsWith(bytes)), 'both at the server')
  for (const sender of senders) sender.destroy()
})

t.test('across pieces, and wherever base64 begins', async t => {
  hold()
  const half = value.length / 2
  const chunk = (piece: string) => `${piece.length.toString(16)}\r\n${piece}\r\n`
  const pieces = `${chunk(`a${value.slice(0, half)}`)}${chunk(`${value.slice(half)}b`)}0\r\n\r\n`
  await sandbox.say(`POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}`)
  t.same(told(), [found])
  for (const before of ['', 'a', 'ab'])
    await post('', Buffer.from(Buffer.from(`${before}${value}z`).toString('base64')))
  t.equal(told().length, 4)
})

t.test('what cannot be searched is said, and with strict not let through', async t => {
  const bomb = gzipSync(Buffer.alloc(60 * 1024 * 1024))
  const odd = {
    'coded as compress': ['compress', Buffer.from('x')],
    'coded as gzip, br': ['gzip, br', brotliCompressSync(gzipSync(text))],
    'it does not decode': ['gzip', Buffer.from('no gzip')],
    'its decoded text is too long': ['gzip', bomb],
  } as const
  for (const [detail, [coding, body]] of Object.entries(odd)) {
    hold()
    t.match(await coded(coding, body), /^HTTP\/1\.1 200/, detail)
    t.same(told(), [`not_searched allowed ${detail}`])
    hold({ canary: 'strict', mode: 'shadow' })
    t.match(await coded(coding, body), /^HTTP\/1\.1 200/, detail)
    t.same(told(), [`not_searched would_block ${detail}`])
    hold({ canary: 'strict' })
    const before = log.entries.length
    t.notMatch(await coded(coding, body), /^HTTP\/1\.1 200/, detail)
    t.same(told(), [`not_searched blocked ${detail}`])
    t.notOk(
      log.entries.slice(before).some(one => one.text.endsWith(body.toString('latin1'))),
      'not whole',
    )
  }
  hold({ canary: 'strict' })
  t.match(await coded('compress', Buffer.from('x')), /403[^]*firewall_blocked/)
  t.match(await post('Grpc-Encoding: gzip\r\n', Buffer.from('x')), /403[^]*firewall_blocked/)
  const many = await Promise.all(Array.from({ length: 5 }, () => sandbox.proxy()))
  for (const socket of many)
    socket.write(
      `POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nContent-Encoding: br\r\nContent-Length: 99\r\n\r\nx`,
    )
  await moment()
  t.same(told().slice(2), ['not_searched blocked too much is looked at'], 'four windows of 16 MB at a time')
  for (const socket of many) socket.destroy()
  await moment()
  t.match(await coded('br', brotliCompressSync(text)), /^HTTP\/1\.1 200/, 'and they are given back')
})

const frame = (first: number, said: Buffer, mask = Buffer.from([1, 2, 3, 4])): Buffer => {
  const length = said.length < 126 ? [0x80 | said.length] : [0xfe, said.length >> 8, said.length & 255]
  return Buffer.concat([Buffer.from([first, ...length]), mask, said.map((byte, at) => byte ^ (mask[at % 4] as number))])
}
const talk = async (): Promise<{ socket: Socket; heard: () => string }> => {
  const socket = await sandbox.proxy()
  let heard = ''
  socket.on('error', () => {}).on('data', piece => (heard += piece.toString('latin1')))
  const key = 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n'
  socket.write(
    `GET http://${host}/ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n`,
  )
  while (!heard.includes('\r\n\r\n')) await once(socket, 'data')
  return { socket, heard: () => heard }
}

t.test('in messages of WebSockets, which nobody agrees to pack', async t => {
  hold({ canary: 'strict' })
  const { socket, heard } = await talk()
  t.notMatch(log.entries.at(-1)?.text, /sec-websocket-extensions/i)
  const [one, two] = [Buffer.from(value.slice(0, 7)), Buffer.from(value.slice(7))]
  const said = Buffer.concat([
    frame(2, Buffer.alloc(300, 'x')),
    frame(1, one),
    frame(0x89, Buffer.from('ping')),
    frame(0x80, two),
  ])
  for (const byte of said) socket.write(Buffer.from([byte]))
  await moment(200)
  t.same(told(), [found])
  t.ok(heard().endsWith(said.toString('latin1')), 'and arrive as they were said')
  socket.write(frame(0x89, Buffer.from(value)))
  await moment()
  t.same(told(), [found], 'once a connection')
  socket.write(frame(0xc1, Buffer.from('packed')))
  await once(socket, 'close')
  t.same(told().slice(1), ['not_searched blocked a frame of an extension'])
  t.notMatch(heard(), 'packed')
  hold()
  const other = await talk()
  other.socket.write('raw bytes, no frames')
  await moment()
  t.match(other.heard(), /raw bytes, no frames$/)
  t.match(told(), [/^not_searched allowed a frame/])
  other.socket.destroy()
  egress.setPolicy('sandbox', {})
  const free = await talk()
  t.match(log.entries.at(-1)?.text, /sec-websocket-extensions/i, 'offered where there is nothing to look for')
  free.socket.destroy()
})

t.test('in names, and no event says them', async t => {
  hold()
  await sandbox.resolve(`${value}.open.example`)
  t.same(told(), [found])
  await sandbox.get(`http://${host}/${value}`)
  const socket = await sandbox.tunnel(`${value}.wild.example:443`)
  if ('destroy' in socket) {
    const secured = await sandbox.tls(socket, { servername: `${value}.wild.example` })
    secured.destroy()
  }
  t.same(told().slice(1), [found, found])
  t.notMatch(JSON.stringify(egress.events('sandbox', 0, 1_000)), new RegExp(value, 'i'))
  t.same(internet.errors, [])
})
