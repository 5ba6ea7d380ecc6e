/** Packages that several sandboxes install: what is kept, for whom, and what never is. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startInternet } from '../../../support/internet/index.ts'
import { addresses, whyNoInternet } from '../../../support/internet/network.ts'
import { npmPackage, pythonPackage, registryAddress, startRegistries } from '../../../support/internet/registries.ts'
import { ask, type Answer, type Sandbox } from '../../../support/internet/sandbox.ts'
import { enterOwnNetwork } from '../../../support/tunnel-net.ts'
import { until } from '../../../support/until.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoInternet())
enterOwnNetwork()

const hosts = [
  { kind: 'npm', host: 'npm.example' },
  { kind: 'pypi', host: 'index.example' },
  { kind: 'pypi', host: 'files.example' },
  { kind: 'debian', host: 'deb.example' },
  { kind: 'go', host: 'go.example' },
] as const
const names = [...hosts.map(({ host }) => host), 'none.example']
const directory = t.testdir()
const maxBytes = 16 * 1024 * 1024
const internet = await startInternet({ packages: { directory, hosts, maxBytes } })
const { sandbox, neighbour, egress } = internet
const registries = await startRegistries(internet.world, internet.names.table, names)
const { files, asked } = registries
t.teardown(async () => {
  registries.stop()
  await internet.close()
})
const lines = () => asked.map(({ line }) => line)

const allow = (policy: object): void => {
  for (const one of ['sandbox', 'neighbour']) egress.setPolicy(one, policy)
}
t.beforeEach(() => {
  allow({ allowedDomains: names })
  files.clear()
  asked.length = 0
})

type Headers = Readonly<Record<string, string>>

const requestText = (host: string, path: string, headers: Headers): string => {
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${more.join('')}\r\n`
}

/** Over TLS through CONNECT; trusts this host's authority alone, unless another is given. */
const get = async (from: Sandbox, url: string, headers: Headers = {}, ca = egress.caCertificate): Promise<Answer> => {
  const { host, pathname, search } = new URL(`https://${url}`)
  const tunnel = await from.tunnel(`${host}:443`)
  if ('status' in tunnel) return tunnel
  const protocols = { ALPNProtocols: ['h2', 'http/1.1'] }
  const socket = await from.tls(tunnel, { servername: host, ca, rejectUnauthorized: true, ...protocols })
  return ask(socket, requestText(host, pathname + search, headers))
}

const isHit = ({ head }: Answer): boolean => /^cache-status: outbound; hit$/im.test(head)
/** Where the answer to that is; what passes is there a moment after it has passed. */
const answerFile = (url: string, { accept = '' }: Headers = {}): string => {
  const key = createHash('sha256').update(JSON.stringify([`https://${url}`, accept, '']))
  return join(directory, 'answers', `${key.digest('hex')}.json`)
}
const isKept = (url: string, headers?: Headers): Promise<void> =>
  until(() => existsSync(answerFile(url, headers)), `${url} on the disk`)

const fetchKept = async (url: string, headers?: Headers): Promise<void> => {
  await get(sandbox, url, headers)
  await isKept(url, headers)
}

/** Asks for it twice, and finds that the registry was asked twice. */
const notKept = async (t: Test, url: string, headers: Headers = {}): Promise<void> => {
  const before = asked.length
  for (const from of [sandbox, neighbour]) t.notOk(isHit(await get(from, url, headers)), url)
  t.equal(asked.length - before, 2, `${url} ${JSON.stringify(headers)}`)
}

const tarball = Buffer.alloc(200_000, 'tarball of left ')
const left = 'npm.example/left/-/left-1.0.0.tgz'

t.test('what one sandbox has fetched the next one has without the registry', async t => {
  for (const [place, file] of npmPackage('npm.example', tarball)) files.set(place, file)
  files.set('deb.example/debian/pool/main/l/left_1_all.deb', { body: Buffer.from('a .deb') })
  files.set('go.example/left.dev/m/@v/v1.0.0.zip', { body: Buffer.from('a module') })
  files.set('go.example/left.dev/m/@v/list', { body: Buffer.from('v1.0.0\n') })
  for (const url of files.keys()) await fetchKept(url)
  t.equal(asked.length, 5)
  asked.length = 0
  for (const [url, { body }] of files) {
    const second = await get(neighbour, url)
    t.match(second, { status: 200, body: body.toString('latin1') }, url)
    t.ok(isHit(second), url)
  }
  t.same(lines(), ['304 https://go.example/left.dev/m/@v/list'], 'what may change is asked about')
  registries.stop()
  t.match(await get(neighbour, left), { status: 200 }, 'nobody is there')
  t.match(await get(neighbour, 'npm.example/other'), { status: 502 })
  await registries.start()
  const etag = /^etag: (.*)$/im.exec((await get(neighbour, left)).head)?.[1] as string
  t.match(await get(neighbour, left, { 'if-none-match': etag }), { status: 304, body: '' }, 'it has it already')
})

t.test('only where the policy, the names and the fence let it through', async t => {
  const say = async (policy: object) => {
    egress.setPolicy('sandbox', policy)
    return (await get(sandbox, left)).status
  }
  t.equal(await say({ allowedDomains: ['npm.example'] }), 200)
  t.equal(await say({ allowedDomains: ['open.example'] }), 403)
  t.equal(await say({ allowedDomains: ['npm.example/other/'] }), 403)
  t.equal(await say({ forbiddenDomains: ['GET:npm.example'] }), 403)
  egress.remove('sandbox')
  internet.names.table.set('npm.example', ['10.0.0.5'])
  t.equal(await say({ allowedDomains: ['npm.example', '10.0.0.5'] }), 403)
  egress.remove('sandbox')
  internet.names.table.set('npm.example', [registryAddress])
  t.equal(await say({}), 200)
  const events = egress.events('sandbox', 0, 100).events.filter(({ path }) => path === '/left/-/left-1.0.0.tgz')
  t.match(events, [{ kind: 'request', verdict: 'allowed', host: 'npm.example' }], 'it is an event like any other')
})

t.test('what carries a credential, or may, is nobody else’s', async t => {
  files.set('npm.example/mine', { body: Buffer.from('mine'), maxAge: 300 })
  for (const headers of [
    { authorization: 'Bearer x' },
    { cookie: 'a=b' },
    { 'x-auth-token': 'x' },
    { 'private-token': 'x' },
  ])
    await notKept(t, 'npm.example/mine', { ...headers, accept: Object.keys(headers)[0] as string })
  files.set('npm.example/mine?token=x', { body: Buffer.from('mine'), maxAge: 300 })
  await notKept(t, 'npm.example/mine?token=x')
  await fetchKept('npm.example/mine')
  t.ok(isHit(await get(neighbour, 'npm.example/mine')))
  t.notOk(
    isHit(await get(neighbour, 'npm.example/mine', { authorization: 'Bearer x' })),
    'nor is it given to who shows one',
  )
  const routing = [
    { destinations: ['npm.example'], headers: { 'npm-session': '{{SECRET:key}}' }, secrets: { key: 's' } },
  ]
  allow({ allowedDomains: names, routing })
  await notKept(t, 'npm.example/mine')
})

t.test('what a registry says of its answers is obeyed', async t => {
  const body = Buffer.from('x')
  for (const [name, value] of [
    ['set-cookie', 'a=b'],
    ['cache-control', 'private, max-age=100'],
    ['cache-control', 'no-store'],
    ['vary', 'accept, *'],
  ] as const) {
    files.set(`npm.example/${name}`, { body, headers: { [name]: value } })
    await notKept(t, `npm.example/${name}`)
  }
  files.set('npm.example/gone/-/gone-1.0.0.tgz', { body, status: 404 })
  files.set('npm.example/part/-/part-1.0.0.tgz', { body, status: 206, headers: { 'content-range': 'bytes 0-0/9' } })
  await notKept(t, 'npm.example/gone/-/gone-1.0.0.tgz')
  await notKept(t, 'npm.example/part/-/part-1.0.0.tgz')
  files.set('none.example/a/-/a-1.0.0.tgz', { body, maxAge: 300 })
  const tunnel = await sandbox.tunnel('none.example:443')
  if ('status' in tunnel) throw new Error('refused')
  const unread = { servername: 'none.example', ca: internet.worldCa, rejectUnauthorized: true }
  t.match(await ask(await sandbox.tls(tunnel, unread), requestText('none.example', '/a/-/a-1.0.0.tgz', {})), {
    status: 200,
  })
  t.notOk(existsSync(answerFile('none.example/a/-/a-1.0.0.tgz')), 'and of a host that is not named nothing is read')
})

t.test('a sandbox does not choose what others get', async t => {
  files.set('npm.example/plain', { body: Buffer.from('plain'), maxAge: 300 })
  await fetchKept('npm.example/plain', { 'user-agent': 'evil', accept: 'text/evil', 'npm-session': 'evil' })
  t.notMatch(
    JSON.stringify(asked[0]?.headers).replace('text/evil', ''),
    /evil|svc/i,
    'nothing of it but what form it takes',
  )
  t.notOk(isHit(await get(neighbour, 'npm.example/plain')), 'and that is part of what it is kept under')
  await notKept(t, 'npm.example/plain', { accept: `*/*;${'x'.repeat(2_000)}` })
  files.set('deb.example/debian/pool/a_1.deb', { body: Buffer.from('from the registry') })
  const attacker = '198.51.100.66'
  egress.setPolicy('sandbox', {})
  const socket = await sandbox.dial(attacker, 80)
  await ask(socket, requestText('deb.example', '/debian/pool/a_1.deb', {}))
  const over = await sandbox.tls(await sandbox.dial(attacker, 443), { servername: 'deb.example' })
  if (!over.destroyed) await ask(over, requestText('deb.example', '/debian/pool/a_1.deb', {}))
  t.match(await get(neighbour, 'deb.example/debian/pool/a_1.deb'), { body: 'from the registry' })
})

t.test('a file is what its registry says it is, or it is not kept', async t => {
  const digest = createHash('sha256').update(tarball).digest('hex')
  const entries = [
    ...npmPackage('npm.example', tarball, 'right'),
    ...pythonPackage('index.example', 'files.example', tarball),
    [`deb.example/dists/x/by-hash/SHA256/${digest}`, { body: tarball }] as const,
  ]
  for (const [place, file] of entries) files.set(place, file)
  await fetchKept('npm.example/right')
  await fetchKept('index.example/simple/left/')
  for (const url of [
    'npm.example/right/-/right-1.0.0.tgz',
    'files.example/aa/left-1.0-py3-none-any.whl',
    `deb.example/dists/x/by-hash/SHA256/${digest}`,
  ]) {
    files.set(url, { body: Buffer.from('something else') })
    t.match(await get(sandbox, url), { status: 200, body: 'something else' }, 'it passes')
    t.notOk(isHit(await get(neighbour, url)), url)
    await new Promise(resolve => setTimeout(resolve, 50))
    t.notOk(existsSync(answerFile(url)), 'and is not on the disk')
    files.set(url, { body: tarball })
    await fetchKept(url)
    t.ok(isHit(await get(neighbour, url)), `${url}: and when it is that`)
  }
})

t.test('a file that its registry says is another one by now is fetched again', async t => {
  const other = Buffer.from('republished')
  files.set('npm.example/left/-/left-1.0.0.tgz', { body: other })
  t.ok(isHit(await get(neighbour, left)))
  const [[, document]] = npmPackage('npm.example', other) as [[string, { body: Buffer }], unknown]
  files.set('npm.example/left', { ...document, maxAge: 300 })
  await get(neighbour, 'npm.example/left', { 'cache-control': 'no-cache' })
  await until(async () => !isHit(await get(neighbour, left)), 'the new one')
  t.match(await get(neighbour, left), { body: 'republished' })
})

t.test('without TLS it is fetched over TLS', async t => {
  const url = 'http://deb.example/debian/pool/main/b_1.deb'
  files.set('deb.example/debian/pool/main/b_1.deb', { body: Buffer.from('b') })
  t.match(await sandbox.get(url), { status: 200, body: 'b' })
  await isKept('deb.example/debian/pool/main/b_1.deb')
  t.ok(isHit(await neighbour.get(url)))
  t.same(lines(), ['200 https://deb.example/debian/pool/main/b_1.deb'])
})

t.test('what its owner lets by the policy is not opened', async t => {
  allow({ allowedDomains: ['open.example'], bypass: ['npm.example'] })
  t.match(await get(sandbox, left, {}, internet.worldCa), { status: 404 }, "the registry's own certificate")
  t.same(lines(), ['404 https://npm.example/left/-/left-1.0.0.tgz'])
})

t.test('who leaves by an address of its own has its own answers, and so has whom its owner lets by', async t => {
  const url = 'deb.example/debian/pool/main/c_1.deb'
  files.set(url, { body: Buffer.from('c') })
  await fetchKept(url)
  t.ok(isHit(await get(sandbox, url)), 'kept')
  egress.setPolicy('sandbox', { allowedDomains: names }, { sourceAddress: addresses.engine })
  t.notOk(isHit(await get(sandbox, url, {}, internet.worldCa)))
  t.notOk(isHit(await sandbox.get(`http://${url}`)))
  egress.remove('sandbox')
  allow({ bypass: ['deb.example'] })
  t.notOk(isHit(await sandbox.get(`http://${url}`)), 'without TLS as well')
})

t.test('it has so much room and no more', async t => {
  const size = 3 * 1024 * 1024
  const url = (at: number) => `go.example/big/@v/v1.0.${at}.zip`
  for (let at = 0; at < 6; at++) {
    files.set(url(at), { body: Buffer.alloc(size, `${at}`) })
    await get(sandbox, url(at))
    await until(async () => isHit(await get(neighbour, url(at))), url(at))
  }
  const used = readdirSync(join(directory, 'blobs')).length
  t.ok(used <= 4, `${used} bodies`)
  t.ok(isHit(await get(neighbour, url(5))), 'the last one is there')
  asked.length = 0
  t.notOk(isHit(await get(neighbour, url(0))), 'the first one has gone')
  files.set('go.example/huge/@v/v1.0.0.zip', { body: Buffer.alloc(5 * 1024 * 1024) })
  await notKept(t, 'go.example/huge/@v/v1.0.0.zip')
  t.same(readdirSync(join(directory, 'new')), [], 'and nothing of it is left')
  t.same(internet.errors, [])
})
