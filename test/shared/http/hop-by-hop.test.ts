import t from 'tap'
import { hopByHop, namedByConnection } from '../../../shared/http/hop-by-hop.ts'

t.test('what RFC 9110 lists, and what proxies made up, is about one connection', async t => {
  for (const name of ['connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'proxy-authorization'])
    t.ok(hopByHop.has(name), name)
  t.notOk(hopByHop.has('content-length'))
})

t.test('a Connection header names more, in any case and in several lines', async t => {
  const raw = ['Connection', 'close, X-Secret', 'x-secret', '1', 'CONNECTION', ' X-Other ']
  t.same([...namedByConnection(raw)], ['close', 'x-secret', 'x-other'])
  t.same([...namedByConnection(['accept', 'connection'])], [], 'a value is no name')
})

t.test('nobody takes away by it what the message means', async t => {
  const raw = ['connection', 'Host, Content-Length, Content-Type, X-Forwarded-For, X-Forwarded-Host']
  t.same([...namedByConnection(raw)], [])
})
