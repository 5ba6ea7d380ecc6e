/** What rules put in has its bounds, modes say what they would do, and questions of names have theirs. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import packet from 'dns-packet'
import t from 'tap'
import { startInternet } from '../../../support/internet/index.ts'
import { addresses, whyNoInternet } from '../../../support/internet/network.ts'
import { enterOwnNetwork } from '../../../support/tunnel-net.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoInternet())
enterOwnNetwork()
const internet = await startInternet()
t.teardown(internet.close)
const { sandbox, egress, log } = internet
const url = 'http://api.example/rules'
const events = (kind: string) => egress.events('sandbox', 0, 1_000).events.filter(event => event.kind === kind)
t.beforeEach(() => egress.remove('sandbox'))

t.test('ten functions a request, in headers and body together', async t => {
  const six = Array.from({ length: 6 }, () => '{{FUNC:randhex(4)}}').join(' ')
  const rule = { destinations: ['api.example'], headers: { 'x-six': six }, body: { more: six } }
  egress.setPolicy('sandbox', { routing: [rule] })
  const headers = { 'content-type': 'application/json' }
  const answer = await sandbox.request({ method: 'POST', url, headers, body: '{"mine":1}' })
  const said = JSON.parse(answer.body)
  t.match(said.headers['x-six'], /^([0-9a-f]{4} ?){6}$/)
  t.match(JSON.parse(said.body), {
    mine: 1,
    more: /^([0-9a-f]{4} ){4}\{\{FUNC:randhex\(4\)\}\} \{\{FUNC:randhex\(4\)\}\}$/,
  })
  t.match(answer.head, /^x-svc-func-x-six: randhex=/im, 'and they are said')
})

t.test('what the program says wins, each rule has its own secrets, and what has no length passes as it is', async t => {
  const rule = (key: string, more: object) => ({
    destinations: ['api.example'],
    secrets: { [key]: `of-${key}` },
    ...more,
  })
  const first = { 'X-Key': '{{SECRET:one}}', 'x-other': '{{SECRET:two}}', 'x-line': '{{SECRET:three}}' }
  const routing = [
    rule('one', { headers: first, body: { mine: 'theirs', put: '{{SECRET:one}}', not: '{{SECRET:two}}' } }),
    rule('two', { destinations: ['*'], headers: { 'x-key': 'late', 'x-all': '{{SECRET:two}}' } }),
    { destinations: ['open.example'], headers: { 'x-open': 'yes' } },
  ]
  egress.setPolicy('sandbox', { routing })
  const json = { 'content-type': 'application/json' }
  const send = async (more: object, body = '{"mine":"own"}', method = 'POST') => {
    const said = JSON.parse((await sandbox.request({ method, url, headers: { ...json, ...more }, body })).body)
    return { ...said.headers, body: said.body }
  }
  const plain = await send({})
  t.match(plain, { 'x-key': 'of-one', 'x-all': 'of-two', body: '{"put":"of-one","mine":"own"}' })
  t.equal(plain['x-other'], undefined, 'a secret of another rule')
  t.equal(plain['x-open'], undefined, 'a rule of another host')
  t.match(plain['x-svc-request-id'], /^[0-9a-f-]{36}$/)
  const own = await send({ 'X-KEY': 'my own', 'x-mine': '{{SECRET:two}}/{{SECRET:none}}' })
  t.match(own, { 'x-key': 'my own', 'x-mine': 'of-two/{{SECRET:none}}' })
  const basic = `Basic ${Buffer.from('me:{{SECRET:one}}').toString('base64')}`
  t.equal((await send({ authorization: basic })).authorization, `Basic ${Buffer.from('me:of-one').toString('base64')}`)
  const raw = 'POST http://api.example/rules HTTP/1.1\r\nHost: api.example\r\nContent-Type: application/json\r\n'
  const chunked = await sandbox.say(`${raw}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n`)
  t.match(chunked, /"x-key":"of-one"[^]*"body":"\{\}"/)
  t.equal((await send({}, '{}', 'DELETE')).body, '{}')
  t.equal((await send({ 'content-type': 'text/plain' })).body, '{"mine":"own"}')
  t.equal((await send({}, '[1]')).body, '[1]', 'no object')
  t.equal((await send({}, '{')).body, '{', 'no JSON')
  t.match(events('injection').slice(0, 2), [{ detail: 'x-other' }, { detail: 'x-line' }])
  t.notMatch(JSON.stringify(egress.events('sandbox', 0, 1_000)), /of-one|of-two/)
})

t.test('bodies up to a megabyte are merged, larger ones pass as they are', async t => {
  const secrets = { key: 'hush' }
  const rule = { destinations: ['api.example'], body: { account: '{{SECRET:key}}' }, secrets }
  egress.setPolicy('sandbox', { routing: [rule] })
  const send = async (size: number, more = {}) => {
    const start = '{"mine":"'
    const body = `${start}${'x'.repeat(size - start.length - 2)}"}`
    const headers = { 'content-type': 'application/json', ...more }
    await sandbox.request({ method: 'POST', url: `${url}?${size}`, headers, body })
    return log.entries.filter(({ text }) => text.includes(`/rules?${size} `)).at(-1)?.text ?? ''
  }
  const most = 1024 * 1024
  t.match(await send(most), '"account":"hush"')
  const beyond = await send(most + 1)
  t.ok(beyond.length > most, 'it has arrived')
  t.notMatch(beyond, /account|hush/)
  t.notMatch(await send(100, { 'content-encoding': 'gzip' }), /account|hush/, 'nor is what is packed')
  t.match(await send(101, { 'x-other': '1' }), '"account":"hush"')
})

t.test('shadow says what it would block, record learns from it, enforce blocks it', async t => {
  const lists = { allowedDomains: ['open.example'] }
  for (const [mode, status, verdict] of [
    ['shadow', 200, 'would_block'],
    ['record', 200, 'would_block'],
    ['enforce', 403, 'blocked'],
  ] as const) {
    egress.remove('sandbox')
    egress.setPolicy('sandbox', { ...lists, mode })
    t.match(await sandbox.get(url), { status }, mode)
    t.match(events('request'), [{ verdict, reason: 'not_allowed', host: 'api.example', method: 'GET' }], mode)
    const { allowedDomains } = egress.learned('sandbox', 'method')
    t.same(allowedDomains, mode === 'record' ? ['GET:api.example'] : [], mode)
  }
})

t.test('a canary that leaves is told, in whatever form and place', async t => {
  const value = 'canary-of-the-mine'
  egress.setPolicy('sandbox', { canaries: { bird: value } })
  const forms = [value, Buffer.from(value).toString('base64'), Buffer.from(value).toString('hex')]
  for (const form of forms) await sandbox.request({ method: 'POST', url, body: `a ${form} b` })
  await sandbox.get(url, { 'x-out': value })
  await sandbox.get(`${url}?q=${encodeURIComponent(value)}`)
  t.equal(events('canary').length, 5)
  t.ok(events('canary').every(({ detail }) => detail === 'bird'))
  await sandbox.request({ method: 'POST', url, body: value.slice(1) })
  t.equal(events('canary').length, 5, 'not what is no canary')
  t.notMatch(JSON.stringify(egress.events('sandbox', 0, 1_000)), value)
})

/** Asks so many times at once; how many answers came. */
const flood = async (count: number): Promise<number> => {
  const socket = createSocket('udp4')
  socket.bind(0, addresses.sandbox)
  await once(socket, 'listening')
  let answers = 0
  socket.on('message', () => answers++)
  const questions = [{ type: 'A' as const, name: 'open.example' }]
  for (let at = 0; at < count; at++) {
    const query = packet.encode({ type: 'query', id: at, flags: packet.RECURSION_DESIRED, questions })
    socket.send(query, egress.ports.dns, addresses.engine)
    // No more than the socket of the server holds.
    if (at % 20 === 0) await new Promise(resolve => setTimeout(resolve, 2))
  }
  await new Promise(resolve => setTimeout(resolve, 300))
  socket.close()
  return answers
}

t.test('a question is one', async t => {
  egress.setPolicy('sandbox', {})
  const socket = createSocket('udp4')
  socket.bind(0, addresses.sandbox)
  await once(socket, 'listening')
  const questions = ['open.example', 'single.example'].map(name => ({ type: 'A' as const, name }))
  socket.send(packet.encode({ type: 'query', id: 1, questions }), egress.ports.dns, addresses.engine)
  const [answer] = await once(socket, 'message')
  t.match(packet.decode(answer as Buffer), { rcode: 'FORMERR', answers: [] })
  socket.close()
})

t.test('names are asked for once, and so many questions are answered and no more', async t => {
  egress.setPolicy('sandbox', {})
  const asked = () => log.entries.filter(({ server, host }) => server === 'dns' && host === 'open.example').length
  t.match(await sandbox.resolve('open.example'), { rcode: 'NOERROR', answers: [addresses.cdn] })
  const before = asked()
  for (let at = 0; at < 5; at++) await sandbox.resolve('open.example')
  t.ok(before > 0)
  t.equal(asked(), before, 'the answer is kept')
  const answered = await flood(900)
  t.ok(answered >= 200 && answered < 700, `${answered} of 900`)
  t.equal(asked(), before)
  for (const type of ['AAAA', 'UNKNOWN_65', 'UNKNOWN_64'])
    t.match(await sandbox.resolve('open.example', type), { rcode: 'NOERROR', answers: [] }, `${type}: go on with IPv4`)
  t.match(await sandbox.resolve('open.example', 'TXT'), { rcode: 'REFUSED' })
  egress.setPolicy('neighbour', {})
  t.match(await internet.neighbour.resolve('open.example'), { rcode: 'NOERROR' }, 'a neighbour has its own share')
  t.same(internet.errors, [])
})
