/** What a sandbox answers about itself is held against what it may say, and never makes the host wait or fill. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { driveOwnerOf } from '../../../../../control/core/storage/drives/owner.ts'
import { keepAliveCount } from '../../../../../control/core/machines/keep-alive.ts'
import { plainConnections } from '../../../../support/connections.ts'

const sandbox = async (t: Test, listener: RequestListener) => {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
  const connections = plainConnections(t)
  return {
    owner: () => driveOwnerOf(connections, 'box', address),
    count: () => keepAliveCount(connections, address, false),
  }
}

const saying =
  (answer: unknown, type = 'application/json'): RequestListener =>
  (_, response) =>
    response.writeHead(200, { 'content-type': type }).end(typeof answer === 'string' ? answer : JSON.stringify(answer))

t.test('an honest sandbox is believed', async t => {
  const { owner, count } = await sandbox(t, saying({ keepAlive: 2, drives: { uidMap: '1000', gidMap: '' } }))
  t.same(await owner(), { uidMap: '1000', gidMap: '' })
  t.equal(await count(), 2)
})

t.test('ids that are none are nobody', async t => {
  for (const uidMap of ['4294967295', '-1', 'root', '1 2', '99999999999']) {
    const { owner } = await sandbox(t, saying({ keepAlive: 0, drives: { uidMap, gidMap: '7' } }))
    t.same(await owner(), { uidMap: '', gidMap: '7' }, uidMap)
  }
})

t.test('lies, floods and failures are refused', async t => {
  const flood: RequestListener = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const pour = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, ' ')));
    }
    response.on('drain', pour)
    pour()
  }
  const answers: readonly RequestListener[] = [
    saying({ keepAlive: '2', drives: [] }),
    saying('null'),
    saying('{"keepAlive":1'),
    saying('<html>', 'text/html'),
    (_, response) => response.writeHead(500).end('{"error":"x"}'),
    request => void request.socket.destroy(),
    flood,
  ]
  for (const [index, answer] of answers.entries()) {
    const { owner, count } = await sandbox(t, answer)
    await t.rejects(owner(), { code: 'busy', message: /sandbox "box" does not say/ }, `answer ${index}`)
    await t.rejects(count(), { name: 'AppError' }, `answer ${index}`)
  }
})
