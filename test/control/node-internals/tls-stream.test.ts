/** Connections with TLS that are read and written past Node's streams: to both sides they are what they were. */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectPlain, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { connect, createServer, type SecureVersion, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { startTlsStreams, type GiveBack } from '../../../control/node-internals/tls-stream.ts'
import { testAuthority } from '../../support/certificates.ts'

const dir = t.testdir()
const { ca, sign } = testAuthority(dir)
const pair = sign(join(dir, 'localhost'), ['localhost'])
const [cert, key] = [readFileSync(pair.cert), readFileSync(pair.key)]
const take = startTlsStreams()

const opened = async (t: Test, version: SecureVersion) => {
  const server = createServer({ cert, key, maxVersion: version })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { server, port: (server.address() as AddressInfo).port }
}

const failed = (socket: Socket): void => {
  // What is tested is 'close'.
  socket.on('error', () => {})
}

/** The error that ends it. */
const lost = (socket: Socket): Promise<Error> =>
  new Promise(resolve => {
    let why = new Error('it ended without one')
    socket.on('error', error => (why = error)).on('close', () => resolve(why))
  })

/** The next bytes that come, as text. */
const heard = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0])

/** Both ends of a connection on which both have said something; `taken` when the server's end was taken over. */
const joined = async (t: Test, version: SecureVersion = 'TLSv1.3', takesOver = true) => {
  const { server, port } = await opened(t, version)
  const below = connectPlain(port, '127.0.0.1')
  const client = connect({ socket: below, ca, servername: 'localhost' })
  const [ours] = (await once(server, 'secureConnection')) as [TLSSocket]
  t.teardown(() => {
    ours.destroy()
    client.destroy()
    below.destroy()
  })
  for (const socket of [client, ours, below]) failed(socket)
  const asked = heard(ours)
  client.write('a first question')
  t.equal(await asked, 'a first question')
  const answered = heard(client)
  ours.write('and its answer')
  t.equal(await answered, 'and its answer')
  // Node looks only then at what it has written.
  await new Promise(resolve => setImmediate(resolve))
  const giveBack = takesOver ? take?.(ours) : undefined
  if (takesOver) t.ok(giveBack, 'it was taken over')
  return { ours, client, below, giveBack: giveBack as GiveBack }
}

const summed = async (socket: Socket, bytes: number): Promise<string> => {
  const sum = createHash('sha256')
  let left = bytes
  const { promise, resolve } = Promise.withResolvers<void>()
  const take = (piece: Buffer): void => {
    sum.update(piece)
    left -= piece.length
    if (left <= 0) resolve()
  }
  socket.on('data', take)
  await promise
  socket.off('data', take)
  return sum.digest('hex')
}

const long = randomBytes(3 * 1024 * 1024 + 11)
const sumOfLong = createHash('sha256').update(long).digest('hex')

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  void t.test(`${version}: much and little both ways, and again when it is Node's once more`, async t => {
    const { ours, client, giveBack } = await joined(t, version)
    const [there, back] = [summed(ours, long.length), summed(client, long.length)]
    client.write(long)
    ours.write(long)
    t.same([await there, await back], [sumOfLong, sumOfLong])
    const all = summed(client, 5 + 70_000)
    ours.cork()
    ours.write('é', 'latin1')
    ours.write('ü')
    ours.write(Buffer.from([7, 8]))
    ours.write('x'.repeat(70_000), 'latin1')
    ours.uncork()
    const wanted = Buffer.concat([Buffer.from([0xe9, 0xc3, 0xbc, 7, 8]), Buffer.alloc(70_000, 'x')])
    t.equal(await all, createHash('sha256').update(wanted).digest('hex'), 'several pieces, as they are coded')
    giveBack()
    t.same(
      Object.keys(ours).filter(name => ['_read', '_write', '_writev'].includes(name)),
      [],
      'the streams are those of its class',
    )
    const again = summed(ours, long.length)
    client.write(long)
    t.equal(await again, sumOfLong)
    const answered = summed(client, long.length)
    ours.write(long)
    t.equal(await answered, sumOfLong)
  })

  void t.test(`${version}: both sides end in order`, async t => {
    const { ours, client } = await joined(t, version)
    const ends = Promise.all([once(ours, 'end'), once(client, 'end'), once(ours, 'close'), once(client, 'close')])
    const last = heard(client)
    ours.resume()
    ours.end('the last of it')
    t.equal(await last, 'the last of it')
    await ends
    t.pass()
  })

  void t.test(`${version}: the other side ends first`, async t => {
    const { ours, client } = await joined(t, version)
    const ends = Promise.all([once(ours, 'end'), once(ours, 'close'), once(client, 'close')])
    ours.resume()
    client.end()
    await ends
    t.pass()
  })

  void t.test(`${version}: an end of what is said is one, also where the connection below stays`, async t => {
    const { server, port } = await opened(t, version)
    const below = connectPlain(port, '127.0.0.1')
    const kept = new Duplex({
      read: () => {},
      write: (bytes, _encoding, done) => void below.write(bytes, done),
      final: done => done(),
    })
    below.on('data', piece => kept.push(piece))
    const client = connect({ socket: kept, ca, servername: 'localhost' })
    const known = once(client, 'secureConnect')
    const [ours] = (await once(server, 'secureConnection')) as [TLSSocket]
    await known
    t.teardown(() => {
      ours.destroy()
      below.destroy()
    })
    for (const socket of [client, ours, below]) failed(socket)
    await new Promise(resolve => setImmediate(resolve))
    t.ok(take?.(ours))
    const end = once(ours.resume(), 'end')
    client.end()
    await end
    t.notOk(below.writableEnded)
  })

  void t.test(`${version}: what is no record ends it, and what was no part of one is not believed`, async t => {
    const { ours, client, below } = await joined(t, version)
    let came = ''
    ours.on('data', piece => (came += piece))
    const ends = Promise.all([lost(ours), lost(client)])
    below.write(Buffer.concat([Buffer.from([0x17, 3, 3, 0, 32]), randomBytes(32)]))
    const [error, told] = await ends
    t.match(told, { code: /ALERT/ }, 'the other side is told')
    t.match(error, { code: 'EPROTO', syscall: 'read' })
    t.equal(came, '')
  })
}

t.test('who does not read is waited for, and takes no memory but what was written', async t => {
  const { ours, client } = await joined(t)
  client.pause()
  const out = Promise.withResolvers<void>()
  const isEnough = !ours.write(Buffer.concat([long, long, long]), () => out.resolve())
  t.ok(isEnough)
  t.ok(ours.writableLength > 0, 'the kernel has not taken it whole')
  client.resume()
  await out.promise
  t.equal(ours.writableLength, 0)
})

t.test('what is on its way when the connection goes fails', async t => {
  const { ours, client } = await joined(t)
  client.pause()
  const out = Promise.withResolvers<Error | null | undefined>()
  ours.write(Buffer.concat([long, long, long]), out.resolve)
  ours.destroy()
  t.ok(await out.promise)
})

t.test('bytes that nobody takes stay with the other side', async t => {
  const { ours, client } = await joined(t)
  ours.pause()
  const many = Buffer.concat(Array.from({ length: 8 }, () => long))
  client.write(many)
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop = setInterval(() => client.writableLength > 0 && ours.readableLength > 0 && resolve(), 5)
  await promise
  clearInterval(stop)
  t.ok(ours.readableLength < 1024 * 1024, `${ours.readableLength} are held`)
  const sum = summed(ours, many.length)
  ours.resume()
  t.equal(await sum, createHash('sha256').update(many).digest('hex'))
})

t.test('the connection below goes first', async t => {
  const { ours } = await joined(t)
  const { _parent: parent } = ours as unknown as { _parent: Socket }
  const closed = once(ours, 'close')
  parent.destroy()
  ours.write('nobody gets this')
  await closed
  t.pass()
})

t.test('a reset ends it', async t => {
  const { ours, below } = await joined(t)
  const why = lost(ours)
  below.resetAndDestroy()
  t.match(await why, { code: 'ECONNRESET' })
})

t.test('what is on its way through Node is not overtaken', async t => {
  const { ours, client } = await joined(t, 'TLSv1.3', false)
  client.pause()
  ours.write(Buffer.concat([long, long]))
  t.equal(take?.(ours), undefined, 'too much for the kernel')
  const sum = summed(client, 2 * long.length)
  client.resume()
  await sum
  const { promise, resolve } = Promise.withResolvers<void>()
  ours.write('.', () => setImmediate(resolve))
  await promise
  t.ok(take?.(ours), 'and then it is taken')
})

t.test('only connections with TLS are taken', async t => {
  const { port } = await opened(t, 'TLSv1.3')
  const plain = connectPlain(port, '127.0.0.1')
  await once(plain, 'connect')
  t.teardown(() => plain.destroy())
  t.equal(take?.(plain), undefined)
})

t.test('keys are changed as TLS has it, also by the side that does not know whose connection it is', async t => {
  const { server, port } = await opened(t, 'TLSv1.3')
  server.on('secureConnection', (socket: TLSSocket) => {
    let isTaken = false
    failed(socket)
    socket.on('data', piece => {
      isTaken ||= take?.(socket) !== undefined
      socket.write(`${isTaken ? 'ours' : 'theirs'}: ${piece}`)
    })
  })
  const client = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${port}`], { stdio: ['pipe', 'pipe', 'ignore'] })
  t.teardown(() => client.kill('SIGKILL'))
  let said = ''
  const seen = (what: string): Promise<void> =>
    new Promise(resolve => {
      const look = (piece = ''): void => {
        said += piece
        if (said.includes(what)) resolve()
      }
      client.stdout.on('data', look)
      look()
    })
  for (const [line, answer] of [
    ['one', ': one'],
    ['two', 'ours: two'],
    ['K', ''],
    ['three', 'ours: three'],
    ['K', ''],
    ['four', 'ours: four'],
  ] as const) {
    client.stdin.write(`${line}\n`)
    await seen(answer)
    // A command is one read of its input.
    if (!answer) await new Promise(resolve => setTimeout(resolve, 100))
  }
  t.pass()
})
