import '../../support/native.ts'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { md5, transfer, type Body, type Transfer } from '../../../daemon/native/receive/receive.ts'
import { until } from '../../support/until.ts'

const expected = (...pieces: Buffer[]) => createHash('md5').update(Buffer.concat(pieces)).digest('hex')

t.test('MD5 of every length around the borders of blocks, in one piece and in two', async t => {
  for (let length = 0; length <= 260; length++) {
    const bytes = randomBytes(length)
    const whole = md5()
    whole.update(bytes)
    const cut = md5()
    const at = (length * 7) % (length + 1)
    cut.update(bytes.subarray(0, at))
    cut.update(bytes.subarray(at))
    const digests = [whole.digest(), cut.digest()]
    if (digests.some(digest => digest !== expected(bytes))) t.fail(`${length} bytes, cut at ${at}`)
  }
  t.pass()
})

/** Both ends of a connection; nobody reads the far one, whose descriptor this is. */
const pair = async (t: Test): Promise<{ near: Socket; far: Socket; socket: number }> => {
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  near.on('error', () => {})
  const [[far]] = await Promise.all([once(server, 'connection'), once(near, 'connect')])
  t.teardown(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  return { near, far, socket: far._handle.fd }
}

const fileOf = (t: Test, dir = t.testdir({}), name = 'f') => {
  const path = join(dir, name)
  const fd = openSync(path, 'w')
  t.teardown(() => closeSync(fd))
  return { path, fd }
}

const made = (body: Partial<Body> & Pick<Body, 'socket' | 'left'>): Transfer => {
  const one = transfer({ ahead: Buffer.alloc(0), delimiter: undefined, hashing: false, ...body })
  if (!one) throw new Error('no transfer')
  return one
}

t.test('a body in pieces, with what was read before', async t => {
  const { near, socket } = await pair(t)
  const { path, fd } = fileOf(t)
  const ahead = randomBytes(300_000)
  const rest = randomBytes(3_000_001)
  const moving = made({ socket, left: rest.length, ahead, hashing: true })
  const running = moving.run(fd, 5, Infinity)
  for (let at = 0; at < rest.length; at += 700_000) {
    near.write(rest.subarray(at, at + 700_000))
    await until(async () => statSync(path).size >= Math.min(at, rest.length), 'a piece')
  }
  near.write('the next request')
  t.same(await running, { outcome: 'end', written: ahead.length + rest.length })
  t.ok(readFileSync(path).equals(Buffer.concat([Buffer.alloc(5), ahead, rest])))
  t.equal(moving.digest(), expected(ahead, rest))
  t.same(moving.finish(), { left: 0, ahead: Buffer.alloc(0) }, 'not a byte too many')
})

t.test('a delimiter is found wherever the pieces are cut, and nothing that looks like one', async t => {
  const { fd, path } = fileOf(t)
  const delimiter = Buffer.from('\r\n--aabaa')
  const alike = Buffer.from('\r\r\n-\r\n--\r\n--aab\r\n--aaba\r\r\n--aabab')
  const content = Buffer.concat([alike, randomBytes(1000), alike])
  const tail = Buffer.from('--\r\n')
  for (let cut = 0; cut <= delimiter.length + tail.length; cut++) {
    const { near, socket } = await pair(t)
    const all = Buffer.concat([content, delimiter, tail])
    const moving = made({ socket, left: all.length, delimiter, hashing: true })
    const at = cut * 1000
    const running = moving.run(fd, at, Infinity)
    near.write(all.subarray(0, content.length + cut))
    await until(async () => statSync(path).size >= at + content.length, 'the content')
    near.write(all.subarray(content.length + cut))
    t.same(await running, { outcome: 'delimiter', written: content.length }, `cut at ${cut}`)
    t.ok(readFileSync(path).subarray(at).equals(content))
    t.equal(moving.digest(), expected(content))
    const { left, ahead } = moving.finish()
    t.ok(tail.length + delimiter.length - left >= delimiter.length)
    t.ok(ahead.equals(all.subarray(content.length, all.length - left)), 'what is behind is kept')
    near.destroy()
  }
})

t.test('cut within what looks like a delimiter at every byte', async t => {
  const { fd, path } = fileOf(t)
  const delimiter = Buffer.from('\r\n--aabaa')
  const alike = Buffer.from('x\r\n--aaba\r\n--aabab\r\r\ny')
  for (let cut = 1; cut < alike.length; cut++) {
    const { near, socket } = await pair(t)
    const at = cut * 100
    const moving = made({ socket, left: alike.length, delimiter })
    const running = moving.run(fd, at, Infinity)
    near.write(alike.subarray(0, cut))
    await until(async () => statSync(path).size > at, 'the beginning')
    near.write(alike.subarray(cut))
    t.same(await running, { outcome: 'end', written: alike.length })
    t.ok(readFileSync(path).subarray(at).equals(alike), `cut at ${cut}`)
    moving.finish()
    near.destroy()
  }
})

t.test('no more than there is room for; the next run goes on in another file', async t => {
  const { near, socket } = await pair(t)
  const dir = t.testdir({})
  const first = fileOf(t, dir, 'first')
  const second = fileOf(t, dir, 'second')
  const content = randomBytes(900_000)
  const delimiter = Buffer.from('\r\n--b')
  const all = Buffer.concat([content, delimiter])
  const moving = made({ socket, left: all.length - 100_000, ahead: all.subarray(0, 100_000), delimiter, hashing: true })
  near.write(all.subarray(100_000))
  t.same(await moving.run(first.fd, 0, 1_000), { outcome: 'full', written: 1_000 })
  t.same(await moving.run(first.fd, 1_000, 299_000), { outcome: 'full', written: 299_000 })
  t.same(await moving.run(second.fd, 7, 600_000), { outcome: 'delimiter', written: 600_000 }, 'exactly as much')
  t.ok(readFileSync(first.path).equals(content.subarray(0, 300_000)))
  t.ok(readFileSync(second.path).subarray(7).equals(content.subarray(300_000)))
  t.equal(moving.digest(), expected(content))
  moving.finish()
})

t.test('what fails is told: the disk, the file, the client, a cancel', async t => {
  const start = async (path: string, flags: string) => {
    const { near, socket } = await pair(t)
    const fd = openSync(path, flags)
    const moving = made({ socket, left: 1_000_000 })
    const running = moving.run(fd, 0, Infinity)
    running.catch(() => {})
    near.write(randomBytes(1_000))
    const ended = async () => {
      await running.catch(() => {})
      closeSync(fd)
      moving.finish()
    }
    return { near, moving, running, ended }
  }
  const { path } = fileOf(t)
  const full = await start('/dev/full', 'w')
  await t.rejects(full.running, { code: 'ENOSPC', message: 'ENOSPC: no space left on device, write' })
  await full.ended()
  const readOnly = await start(path, 'r')
  await t.rejects(readOnly.running, { code: 'EBADF', syscall: 'write' })
  await readOnly.ended()
  const half = await start(path, 'w')
  half.near.end()
  await t.rejects(half.running, { code: 'ECONNRESET' })
  await half.ended()
  const reset = await start(path, 'w')
  reset.near.resetAndDestroy()
  await t.rejects(reset.running, { code: 'ECONNRESET' })
  await reset.ended()
  const cancelled = await start(path, 'w')
  cancelled.moving.cancel()
  cancelled.moving.cancel()
  await t.rejects(cancelled.running, { code: 'ECANCELED' })
  await cancelled.ended()
  t.throws(() => cancelled.moving.finish(), { code: 'EINVAL' }, 'once')
})

t.test('a client that ends its side behind the body is served', async t => {
  const { near, socket } = await pair(t)
  const { fd } = fileOf(t)
  const moving = made({ socket, left: 100_000 })
  near.end(randomBytes(100_000))
  await once(near, 'finish')
  t.same(await moving.run(fd, 0, Infinity), { outcome: 'end', written: 100_000 })
  moving.finish()
})

t.test('many slow clients hold no threads, and leave no descriptors', async t => {
  const descriptors = () => readdirSync('/proc/self/fd').length
  const threads = () => readdirSync('/proc/self/task').length
  const { fd, path } = fileOf(t)
  const clients = await Promise.all(Array.from({ length: 64 }, () => pair(t)))
  const before = { descriptors: descriptors(), threads: threads() }
  const contents = clients.map(() => randomBytes(20_000))
  const moving = clients.map(({ socket }) => made({ socket, left: 20_000, hashing: true }))
  const running = moving.map((one, index) => one.run(fd, index * 20_000, Infinity))
  for (let at = 0; at < 20_000; at += 2_000)
    for (const [index, { near }] of clients.entries()) {
      near.write(contents[index]?.subarray(at, at + 2_000) as Buffer)
      await new Promise(resolve => setImmediate(resolve))
    }
  t.ok(threads() <= before.threads + 2)
  await Promise.all(running)
  t.ok(readFileSync(path).equals(Buffer.concat(contents)))
  t.same(
    moving.map(one => one.digest()),
    contents.map(content => expected(content)),
  )
  for (const one of moving) one.finish()
  // The threads' epoll, when this test is the first that needs it.
  t.ok(descriptors() <= before.descriptors + 1)
})
