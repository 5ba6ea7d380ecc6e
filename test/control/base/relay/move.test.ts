/** So many bytes of one connection moved to another by the kernel, between real sockets. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startRelay } from '../../../../control/base/relay/addon.ts'
import { isMovable, move, worthBytes, type Moved } from '../../../../control/base/relay/move.ts'
import { until } from '../../../support/until.ts'

/** Both ends of a connection. */
const pair = async (t: Test): Promise<{ near: Socket; far: Socket }> => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  for (const socket of [near, far]) socket.on('error', () => {})
  t.teardown(() => {
    near.destroy()
    far.destroy()
  })
  return { near, far }
}

/** A source and a destination with us between them. */
const between = async (t: Test) => {
  const [source, destination] = [await pair(t), await pair(t)]
  const got: Buffer[] = []
  destination.far.on('data', (piece: Buffer) => void got.push(piece))
  const [from, to] = [source.near, destination.near]
  const rest: Buffer[] = []
  from.on('data', (piece: Buffer) => void rest.push(piece))
  return {
    source: source.far,
    from,
    to,
    destination: destination.far,
    got: () => Buffer.concat(got),
    rest: () => Buffer.concat(rest),
  }
}

const soon = (is: () => boolean): Promise<void> => until(is, 'what was sent')

startRelay()

t.test('what is to be moved comes in its order, after what was written, and what follows is read here', async t => {
  const { source, from, to, got, rest } = await between(t)
  const body = randomBytes(8 * 1024 * 1024 + 1)
  const before = randomBytes(3 * 1024 * 1024)
  to.write(before)
  t.ok(isMovable(from, to))
  const moved = new Promise<Moved>(resolve => move(from, to, body.length, resolve))
  source.write(body)
  source.write('and this')
  t.match(await moved, { isWhole: true, left: 0, isSourceGone: false })
  await soon(() => got().length === before.length + body.length && rest().length > 0)
  t.ok(got().equals(Buffer.concat([before, body])))
  t.equal(String(rest()), 'and this')
  to.write('!')
  await soon(() => got().length === before.length + body.length + 1)
  t.pass('both sockets are as before')
})

t.test('it is told whether more is there than was to be moved', async t => {
  for (const surplus of ['', 'more']) {
    const { source, from, to, destination, got } = await between(t)
    destination.pause()
    // It begins when this is out, and all of the source lies there by then.
    to.write(randomBytes(16 * 1024 * 1024))
    const moved = new Promise<Moved>(resolve => move(from, to, 10_000, resolve))
    source.write(Buffer.concat([randomBytes(10_000), Buffer.from(surplus)]))
    await new Promise(resolve => setTimeout(resolve, 50))
    t.equal(got().length, 0)
    destination.resume()
    t.same(await moved, { isWhole: true, left: 0, isSourceGone: false, hasMore: surplus !== '' })
  }
})

t.test('a source that ends too early is told, with what was missing', async t => {
  const { source, from, to, got } = await between(t)
  const moved = new Promise<Moved>(resolve => move(from, to, worthBytes, resolve))
  source.end('abc')
  t.same(await moved, { isWhole: false, left: worthBytes - 3, isSourceGone: true, hasMore: false })
  await soon(() => got().length === 3)
  t.equal(String(got()), 'abc')
  t.notOk(to.destroyed)
})

t.test('a destination that is gone is no fault of the source', async t => {
  const { source, from, to, destination } = await between(t)
  const moved = new Promise<Moved>(resolve => move(from, to, 64 * 1024 * 1024, resolve))
  destination.resetAndDestroy()
  source.write(randomBytes(32 * 1024 * 1024))
  const { isWhole, isSourceGone } = await moved
  t.notOk(isWhole)
  t.notOk(isSourceGone)
})

t.test('a destination that is gone is noticed while nothing comes, though nobody reads there', async t => {
  const { from, to, destination } = await between(t)
  to.pause()
  const moved = new Promise<Moved>(resolve => move(from, to, 64 * 1024, resolve))
  await new Promise(resolve => setTimeout(resolve, 50))
  destination.resetAndDestroy()
  t.same(await moved, { isWhole: false, left: 64 * 1024, isSourceGone: false, hasMore: false })
})

t.test('it ends when it is told to, and the rest is read here', async t => {
  const { source, from, to, got, rest } = await between(t)
  let end = () => {}
  const moved = new Promise<Moved>(resolve => {
    end = move(from, to, 1_000_000, resolve)
  })
  source.write('abc')
  await soon(() => got().length === 3)
  end()
  t.same(await moved, { isWhole: false, left: 999_997, isSourceGone: false, hasMore: false })
  source.write('def')
  await soon(() => rest().length === 3)
  t.equal(String(rest()), 'def')
})

t.test('one that is gone before it begins is told all the same', async t => {
  const { from, to } = await between(t)
  to.destroy()
  const { isWhole, left } = await new Promise<Moved>(resolve => move(from, to, 1_000, resolve))
  t.same({ isWhole, left }, { isWhole: false, left: 1_000 })
})
