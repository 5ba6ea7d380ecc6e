import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createResolver, serversNamed, useResolver } from '../../../daemon/names/resolver.ts'

const pointer = Buffer.from([0xc0, 12])
const record = (type: number, data: Buffer): Buffer =>
  Buffer.concat([pointer, Buffer.from([0, type, 0, 1, 0, 0, 0, 60, 0, data.length]), data])

/** A name server that answers each name by what `answers` says, with stray datagrams before. */
const nameServer = async (t: Test, answers: Readonly<Record<string, (question: Buffer) => Buffer[]>>) => {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (question, { port, address }) => {
    const labels: string[] = []
    for (let at = 12, length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    const name = labels.join('.')
    asked.push(name)
    for (const answer of answers[name]?.(question) ?? []) socket.send(answer, port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return { port: socket.address().port, asked }
}

const answer = (question: Buffer, code: number, ...records: Buffer[]): Buffer => {
  const head = Buffer.from(question.subarray(0, 12))
  head.writeUInt16BE(0x8180 | code, 2)
  head.writeUInt16BE(records.length, 6)
  return Buffer.concat([head, question.subarray(12), ...records])
}
const a = (address: string) => record(1, Buffer.from(address.split('.').map(Number)))

t.test('names are asked for, and only answers to the question count', async t => {
  const { port, asked } = await nameServer(t, {
    'one.example': question => [
      Buffer.from('no message'),
      answer(Buffer.concat([Buffer.from([0, 0]), question.subarray(2)]), 0, a('203.0.113.66')),
      answer(Buffer.from(question.toString('latin1').replace('one', 'two'), 'latin1'), 0, a('203.0.113.67')),
      Buffer.from(question),
      answer(question, 0, record(5, Buffer.from('\x03cdn\xc0\x10', 'latin1')), a('192.0.2.7'), a('192.0.2.8')),
    ],
    'none.example': question => [answer(question, 3)],
    'empty.example': question => [answer(question, 0)],
    'broken.example': question => [answer(question, 2)],
    'short.example': question => [answer(question, 0, a('192.0.2.7')).subarray(0, -2)],
  })
  const resolve = createResolver(['127.0.0.1'], port)
  t.equal(await resolve('one.example'), '192.0.2.7')
  t.equal(await resolve('One.Example.'.toLowerCase()), '192.0.2.7')
  await t.rejects(resolve('none.example'), { code: 'ENOTFOUND' })
  await t.rejects(resolve('empty.example'), { code: 'ENOTFOUND' })
  await t.rejects(resolve('broken.example'), { code: 'EAI_AGAIN' })
  await t.rejects(resolve('short.example'), { code: 'EAI_AGAIN' })
  const before = asked.length
  for (const name of ['127.0.0.1', '::1']) t.equal(await resolve(name), name)
  for (const name of ['localhost', 'a.localhost']) t.equal(await resolve(name), '127.0.0.1')
  for (const name of ['', 'a..b', `${'x'.repeat(64)}.example`, 'ä.example', 'x.'.repeat(200)])
    await t.rejects(resolve(name), { code: 'ENOTFOUND' }, `not asked: ${name.slice(0, 20)}`)
  t.equal(asked.length, before)
  await t.rejects(createResolver([])('one.example'), { code: 'EAI_AGAIN' }, 'nobody to ask')
})

t.test('the next server is asked when one does not know', async t => {
  const { port } = await nameServer(t, { 'one.example': question => [answer(question, 0, a('192.0.2.7'))] })
  // Nobody listens there, which the system says at once.
  t.equal(await createResolver(['127.0.0.9', '127.0.0.1'], port)('one.example'), '192.0.2.7')
})

t.test('servers of a root file system are read as data', async t => {
  const file = join(t.testdir(), 'resolv.conf')
  t.same(serversNamed(file), [])
  t.same(serversNamed('/dev/zero'), [], 'no regular file')
  writeFileSync(
    file,
    '# x\nnameserver 192.0.2.1\n nameserver\t2001:db8::1\nnameserver evil; rm\nnameserver 1.2.3.4 5\noptions x\n',
  )
  t.same(serversNamed(file), ['192.0.2.1', '2001:db8::1', '1.2.3.4'])
})

t.test('whatever connects to a name in this process asks it', async t => {
  const server = createServer(socket => socket.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const names: string[] = []
  useResolver(() => async name => {
    names.push(name)
    if (name !== 'good.example') throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
    return '127.0.0.1'
  })
  const { port } = server.address() as AddressInfo
  await once(connect(port, 'good.example').resume(), 'close')
  await t.rejects(fetch(`http://bad.example:${port}/`))
  t.same(names, ['good.example', 'bad.example'])
})
