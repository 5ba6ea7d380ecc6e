/** Which connections of the lane are read in the faster way, and until when. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { openLane } from '../../../shared/lane/lane.ts'
import { serveWith } from '../../../shared/http/server.ts'
import { fakeClock } from '../../support/clock.ts'
import { raw } from '../../support/raw.ts'

const served = async (t: Test, quicken: () => (() => void) | undefined) => {
  const server = serveWith({
    request: (message, response) => void message.resume().once('end', () => response.end(message.url)),
    upgrade: (_message, socket) => void socket.destroy(),
  })
  openLane(server, { take: () => false, clock: fakeClock(), maxHeadBytes: 1024, maxHeadPieces: 16, quicken })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return raw(t, (server.address() as AddressInfo).port)
}

t.test('from the second request on, as soon as it can be, until another reader has it', async t => {
  const said: string[] = []
  const quicken = () => {
    said.push(said.length < 2 ? 'not yet' : 'taken')
    return said.length > 2 ? () => void said.push('given back') : undefined
  }
  const connection = await served(t, quicken)
  const ask = async (path: string, more = '\r\n') => {
    connection.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n${more}`)
    await connection.seen(new RegExp(`${path}(?:\r\n0\r\n\r\n)?$`))
    return [...said]
  }
  t.same(await ask('/one'), [], 'one request only would pay for nothing')
  t.same(await ask('/two'), ['not yet'])
  t.same(await ask('/three'), ['not yet', 'not yet'])
  t.same(await ask('/four'), ['not yet', 'not yet', 'taken'])
  t.same(await ask('/five'), ['not yet', 'not yet', 'taken'], 'once')
  const odd = 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
  t.same(await ask('/six', odd), ['not yet', 'not yet', 'taken', 'given back'])
})

t.test('where it can never be, it is not tried for ever', async t => {
  let tries = 0
  const connection = await served(t, () => {
    tries++
    return undefined
  })
  connection.send('GET /x HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20))
  await connection.seen(/(?:HTTP\/1\.1 200 OK[^]*){20}/)
  t.equal(tries, 4)
})
