/** How requests and hellos are read where two readers may differ: each by itself, because from outside the next layer holds, too. */
import t from 'tap'
import { admit } from '../../../../control/network/egress/admit.ts'
import { judge } from '../../../../control/network/egress/http/judge.ts'
import { headerNames } from '../../../../control/network/egress/http/names.ts'
import type { Origin } from '../../../../control/network/egress/http/origin.ts'
import { readingsOf, readRequest } from '../../../../control/network/egress/http/request.ts'
import { parseAbsolute, targetIn } from '../../../../control/network/egress/http/target.ts'
import { createTenant } from '../../../../control/network/egress/tenant.ts'
import { parseClientHello } from '../../../../control/network/egress/tls/client-hello.ts'
import { compilePolicy } from '../../../../shared/policy/decide.ts'
import { parseAuthority } from '../../../../shared/policy/host.ts'
import { parseEgressPolicy } from '../../../../shared/policy/policy.ts'
import { wireNames } from '../../../../shared/wire-names.ts'
import { extension, hello, record, serverName } from './attempts/hello.ts'

const names = headerNames(wireNames([{ header: 'Svc', short: 'svc', image: 'svc' }]))
const read = (...lines: string[]) => {
  const lined = readRequest(lines, names)
  if (typeof lined === 'string') throw new Error(lined)
  return lined
}

t.test('hellos', t => {
  const name = serverName('open.example')
  const kind = (bytes: Buffer) => parseClientHello(bytes).kind
  t.match(parseClientHello(record(hello('x', name))), { kind: 'hello', hello: { serverName: 'open.example' } })
  t.match(parseClientHello(record(hello('x', serverName('OPEN.example')))), { hello: { serverName: 'open.example' } })
  t.equal(kind(record(hello('x', name, serverName('evil.example')))), 'bad', 'two lists of names')
  t.equal(kind(record(hello('x', extension(5), extension(5)))), 'bad', 'any extension twice')
  t.equal(kind(record(Buffer.concat([hello('x', name), hello('x', name)]))), 'bad', 'something follows it')
  for (const odd of ['bücher.example', '203.0.113', '0x7f.1', 'a..b', 'a b', '*.example'])
    t.equal(kind(record(hello('x', serverName(odd)))), 'bad', odd)
  t.match(parseClientHello(record(hello('x', serverName('xn--bcher-kva.example')))), {
    hello: { serverName: 'xn--bcher-kva.example' },
  })
  t.end()
})

t.test('heads', t => {
  t.match(readRequest(['Host', 'a.example', 'host', 'a.example'], names), /more than one Host/)
  const paths = (...lines: string[]) =>
    readingsOf('GET', '/v1', read('Host', 'a', ...lines))?.paths.map(one => one.exact)
  t.same(paths('X-Original-URL', '/v2'), ['/v1', '/v2'])
  t.same(paths('X-Rewrite-URL', 'http://x/v2'), ['/v1', '/v2'])
  const methods = (name: string) => readingsOf('GET', '/', read('Host', 'a', name, 'delete'))?.methods
  for (const name of ['X-HTTP-Method', 'X-HTTP-Method-Override', 'X-Method-Override'])
    t.same(methods(name), ['GET', 'DELETE'], name)
  for (const authority of ['me@a.example', 'a.example:', 'a.example:0', 'a.example:65536', 'a.example:8 0', '[::1'])
    t.equal(parseAuthority(authority, 80), undefined, authority)
  for (const url of ['http://me:pw@a.example/', 'http:///x', 'http:a.example', 'ftp://a.example/', 'http://a%2eb/'])
    t.equal(parseAbsolute(url), undefined, url)
  t.end()
})

t.test('a target names the place of its connection, or none', t => {
  const origin = { scheme: 'http', host: 'open.example', port: 80 } as Origin
  t.equal(targetIn(origin, '/x?y'), '/x?y')
  t.equal(targetIn(origin, 'http://OPEN.example.:80/x'), '/x')
  for (const url of [
    'http://evil.example/x',
    'https://open.example/x',
    'http://open.example:81/x',
    'x',
    'open.example:80',
  ])
    t.equal(targetIn(origin, url), undefined, url)
  t.end()
})

t.test('methods that show what was put in are not passed on', t => {
  const tenant = createTenant('a', {}, { now: () => 0, limits: { events: 1 } })
  const engine = { requestId: () => 'r', names } as unknown as Parameters<typeof judge>[0]
  const origin = { tenant, scheme: 'http', host: 'a.example', port: 80 } as Origin
  const lines = read('Host', 'a.example')
  const ask = (method: string) => judge(engine, origin, { method, target: '/', lines, protocol: 'http' })
  t.match(ask('OPTIONS'), { ok: true })
  for (const method of ['TRACE', 'CONNECT']) t.match(ask(method), { ok: false, reason: 'method' }, method)
  tenant.pool.close()
  t.end()
})

t.test('the host alone is forbidden before anything is connected to', async t => {
  const verdict = (lists: object, host = 'a.example') => compilePolicy(parseEgressPolicy(lists)).forHost(host)
  t.match(verdict({ forbiddenDomains: ['a.example'], bypass: ['a.example'] }), { allowed: false, reason: 'forbidden' })
  t.match(verdict({ allowedDomains: ['a.example:443'] }), { allowed: false }, 'a port is nobody’s name')
  const tenant = createTenant('a', { mode: 'shadow' }, { now: () => 0, limits: { events: 1 } })
  const resolver = { resolve: async () => ({ kind: 'closed', ttlMs: 1 }) } as unknown as Parameters<typeof admit>[0]
  t.match(await admit(resolver, tenant, { host: 'a.example' }), { ok: false, reason: 'closed_address' })
  tenant.pool.close()
})
