import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createFileSender } from '../../../daemon/node-internals/send-file.ts'
import '../../support/native.ts'
import { raw, type Raw } from '../../support/raw.ts'
import { until } from '../../support/until.ts'

const send = createFileSender(true)
const count = 1024 * 1024
const neverAborted = new AbortController().signal

const serving = async (t: Test, answer: RequestListener): Promise<number> => {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const fileOf = (t: Test, content: Uint8Array | number): { path: string; fd: number } => {
  const path = join(t.testdir(), 'file')
  writeFileSync(path, typeof content === 'number' ? '' : content)
  if (typeof content === 'number') truncateSync(path, content)
  const fd = openSync(path, 'r')
  t.teardown(() => closeSync(fd))
  return { path, fd }
}

const get = async (t: Test, port: number, method = 'GET'): Promise<Raw> => {
  const client = await raw(t, port)
  client.send(`${method} / HTTP/1.1\r\nhost: a\r\n\r\n`)
  return client
}

t.test('send-file: bytes go straight to the connection, between those of Node, and it stays in use', async t => {
  const content = randomBytes(count + 100)
  const { fd } = fileOf(t, content)
  // More than a socket takes at once: Node has it still to write when the file's turn comes.
  const before = Buffer.alloc(16 * count, '<')
  const sent: number[] = []
  const port = await serving(t, async (_request, response) => {
    response.writeHead(200, { 'content-length': before.length + count + 4 })
    response.write(before)
    const gone = await send(response, { fd, from: 100, count }, neverAborted)
    sent.push(gone)
    if (gone === 0) response.write(content.subarray(100))
    response.end('>>>>')
  })
  // Both questions come at once: the second answer must wait for its turn.
  const client = await get(t, port)
  client.send('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  const bodies = (await client.ended).split('\r\n\r\n<').slice(1)
  const wanted = content.toString('latin1', 100)
  t.equal(bodies.length, 2)
  for (const body of bodies) t.ok(body.startsWith(`${'<'.repeat(before.length - 1)}${wanted}>>>>`), 'whole')
  t.same(sent.sort(), [0, count], 'by the kernel, but for the answer whose turn had not come')
})

t.test('send-file: what would not arrive as it is, or is small, is left to the caller', async t => {
  const { fd } = fileOf(t, count)
  const asked = async (headers: Record<string, number>, size = count, method = 'GET') => {
    let sent = -1
    const port = await serving(t, async (_request, response) => {
      response.writeHead(200, headers)
      response.flushHeaders()
      sent = await send(response, { fd, from: 0, count: size }, neverAborted)
      response.destroy()
    })
    await (await get(t, port, method)).ended
    return sent
  }
  t.equal(await asked({ 'content-length': count }), count)
  t.equal(await asked({}), 0, 'in chunks')
  t.equal(await asked({ 'content-length': count }, count, 'HEAD'), 0, 'without a body')
  t.equal(await asked({ 'content-length': count }, 1_000), 0, 'small')
  t.equal(await asked({ 'content-length': count * 2 }, count * 2), count, 'a file that is shorter than was thought')
})

t.test('send-file: clients that do not read are a few threads, not one each, and those who leave let go', async t => {
  const { fd } = fileOf(t, 64 * count)
  const left: number[] = []
  let gone = 0
  const port = await serving(t, async (_request, response) => {
    const leaves = new AbortController()
    response.once('close', () => leaves.abort())
    response.writeHead(200, { 'content-length': 64 * count }).flushHeaders()
    try {
      left.push(await send(response, { fd, from: 0, count: 64 * count }, leaves.signal))
    } catch {
      gone++
    }
  })
  const clients = await Promise.all(Array.from({ length: 16 }, () => get(t, port)))
  for (const { socket } of clients) socket.pause()
  await until(() => clients.every(({ socket }) => socket.bytesRead > 0), 'all are being answered')
  const seventeenth = await get(t, port)
  await until(() => left.length === 1, 'one was refused')
  t.same(left, [0], 'the next is the caller’s')
  for (const { socket } of [...clients, seventeenth]) socket.destroy()
  await until(() => gone === 16, 'all have let go')
  await get(t, port)
  await until(() => left.length === 2, 'one more was answered')
  t.equal(left[1], 64 * count, 'there is room again')
})

t.test('send-file: switched off, all is left to the caller', async t => {
  const { fd } = fileOf(t, count)
  const port = await serving(t, async (_request, response) => {
    response.writeHead(200, { 'content-length': 1 })
    response.end(String(await createFileSender(false)(response, { fd, from: 0, count }, neverAborted)))
  })
  t.match(await (await get(t, port)).seen(/\r\n\r\n./), /\r\n\r\n0$/)
})
