/** What an operator lists, what is said of this host, and what providers answer to connections. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { control, knownImages } from '../../../support/control.ts'
import { freePort } from '../../../support/keyed.ts'
import { until } from '../../../support/until.ts'

const open = { headers: { authorization: '' } }

t.test('catalogues are shipped, and replaced by what the operator writes', async t => {
  const { call, dataDir } = await control(t)
  const write = (name: string, value: unknown) => {
    mkdirSync(join(dataDir, 'catalogues'), { recursive: true })
    writeFileSync(
      join(dataDir, 'catalogues', `${name}.json`),
      typeof value === 'string' ? value : JSON.stringify(value),
    )
  }
  t.match((await call('GET', '/sandbox/hub')).body, [{ name: 'base', image: 'base' }, { image: 'busybox' }])
  t.match((await call('GET', '/mcp/hub')).body, [{ name: String }])
  t.match((await call('GET', '/templates')).body, [
    { name: 'python-web' },
    { name: 'node-web' },
    { name: 'python-task' },
  ])
  t.equal((await call('GET', '/templates/web')).status, 404)
  t.hasProps((await call('GET', '/integrations/openai')).body.endpoints, ['/chat/completions'])
  t.equal((await call('GET', '/integrations/nobody')).status, 404)
  t.same((await call('GET', '/changelog', undefined, open)).body, { entries: [] })

  const [image] = knownImages
  write('sandbox-hub', [{ name: 'mine', image, memory: 512 }])
  const [entry] = (await call('GET', '/sandbox/hub')).body
  t.match(entry, { name: 'mine' })
  t.equal(
    (await call('POST', '/sandboxes', { spec: { runtime: { image: entry.image, memory: entry.memory } } })).status,
    200,
  )
  write('templates', [{ name: 'web', url: 'file:///srv/templates/web', topics: ['sandbox'] }])
  t.match((await call('GET', '/templates/web')).body, { url: 'file:///srv/templates/web' })
  write('changelog', [
    { date: '2026-01-01', title: 'old', content: 'x' },
    { date: '2026-02-01', title: 'new', content: 'y' },
  ])
  const log = await call('GET', '/changelog', undefined, open)
  t.match(log, { headers: { 'cache-control': /max-age/ }, body: { entries: [{ title: 'new' }, { title: 'old' }] } })
  for (const wrong of [
    '{',
    '{}',
    '[{"name":"web"}]',
    '[{"name":"a","url":"javascript:x"}]',
    '[{"name":"a","url":"/a","colour":1}]',
  ]) {
    write('templates', wrong)
    const answer = await call('GET', '/templates')
    t.match(answer, { status: 503, body: { error: 'unavailable', message: /catalogue templates/ } }, wrong)
    t.notMatch(answer.text, new RegExp(dataDir))
  }
  write('templates', [
    { name: 'a', url: '/a' },
    { name: 'a', url: '/b' },
  ])
  t.equal((await call('GET', '/templates')).status, 503, 'a name twice')
  write('templates', [])
  t.same((await call('GET', '/templates')).body, [], 'mended without a restart')
})

t.test('templates that come with this host run as they are fetched', async t => {
  const { call } = await control(t)
  const templates = (await call('GET', '/templates')).body as { name: string; url: string; description: string }[]
  for (const { name, url, description } of templates) {
    t.equal(url, `http://127.0.0.1:8080/v0/templates/${name}/source`)
    const { status, bytes } = await call('GET', `/templates/${name}/source`)
    t.equal(status, 200)
    const dir = mkdtempSync(join(tmpdir(), 'hutch-template-'))
    t.teardown(() => rmSync(dir, { recursive: true, force: true }))
    execFileSync('tar', ['-x', '-C', dir], { input: bytes })
    const [, command = ''] = /: (.*)$/.exec(description) ?? []
    const [file = '', ...args] = command.split(' ')
    const port = await freePort()
    const env = { ...process.env, PORT: String(port), TASK_INDEX: '4' }
    const child = spawn(file, args, { cwd: join(dir, name), env, stdio: ['ignore', 'pipe', 'inherit'] })
    if (name === 'python-task') t.match(await text(child.stdout), /"square": 16/)
    else
      await until(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/x`).catch(() => undefined)
        return answer !== undefined && /^hello from \w+ at \/x/.test(await answer.text())
      }, `${name} answers`)
    child.kill()
  }
  t.equal(templates.length, 3)
  t.equal((await call('GET', '/templates/none/source')).status, 404)
})

t.test('where this host is and what it can do', async t => {
  const { call, dataDir } = await control(t)
  t.match((await call('GET', '/configuration')).body, {
    regions: [{ name: 'local', drivesAvailable: false, proxyAvailable: true }, { name: 'eu-fra-1' }],
    countries: [],
    detectedRegion: 'local',
  })
  mkdirSync(join(dataDir, 'catalogues'))
  const write = (name: string, value: unknown) =>
    writeFileSync(join(dataDir, 'catalogues', `${name}.json`), JSON.stringify(value))
  write('regions', [{ name: 'eu-fra-1', country: 'de', continent: 'eu', location: 'Frankfurt' }])
  t.match((await call('GET', '/locations')).body, [
    { region: 'local', status: 'healthy', flavors: [{ type: 'cpu' }] },
    { region: 'eu-fra-1', country: 'de', location: 'Frankfurt' },
  ])
  t.match((await call('GET', '/configuration')).body, { continents: [{ name: 'eu' }], countries: [{ name: 'de' }] })
  t.same((await call('GET', '/publicIps')).body, {})
  write('public-ips', [{ name: 'local', ipv4Cidrs: ['203.0.113.7/32'] }, { name: 'eu-fra-1' }])
  t.same((await call('GET', '/publicIps?region=local')).body, {
    local: { description: '', ipv4Cidrs: ['203.0.113.7/32'], ipv6Cidrs: [] },
  })
  t.same((await call('GET', '/features')).body, { features: { proxy: true } })
  write('features', [
    { name: 'beta', enabled: true, variant: 'b', payload: { a: 1 } },
    { name: 'proxy', enabled: false },
  ])
  t.same((await call('GET', '/features')).body, { features: { beta: true } })
  t.match((await call('GET', '/features/beta')).body, {
    featureKey: 'beta',
    enabled: true,
    variant: 'b',
    payload: { a: 1 },
    evaluatedAt: '2026-01-01T00:00:00.000Z',
  })
  t.match((await call('GET', '/features/drives')).body, { enabled: false, variant: 'off' })
  t.equal((await call('GET', '/features/none')).status, 404)
  t.same((await call('GET', '/quotas/account/default')).body, [])
  t.equal((await call('GET', '/quotas/account/rival')).status, 403)
})

interface Asked {
  readonly url: string | undefined
  readonly authorization: string | undefined
}

/** A provider on this machine; what it was asked is written down. */
const provider = async (t: Test): Promise<{ origin: string; asked: Asked[]; server: Server }> => {
  const asked: Asked[] = []
  const server = createServer(({ url, headers }, response) => {
    asked.push({ url, authorization: headers.authorization })
    if (url === '/v1/models') response.end(JSON.stringify({ data: [{ id: 'one' }] }))
    else if (url === '/v1/models/org/one') response.end('{"id":"org/one"}')
    else if (url === '/v1/models/words') response.end('not json')
    else if (url === '/v1/models/huge') response.end(`"${'x'.repeat(5 * 1024 * 1024)}"`)
    else if (url === '/v1/models/away') response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    else if (url === '/v1/models/cut') response.destroy()
    else response.writeHead(500).end('boom')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void (server.closeAllConnections(), server.close()))
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server }
}

t.test('a connection is read at its provider, with its secret, where the operator allows it', async t => {
  const { origin, asked, server } = await provider(t)
  const { call, addKey } = await control(t, { providers: [origin] })
  const path = '/integrations/connections'
  const connection = (name: string, baseUrl: string, apiKey = 'sk-hush') => ({
    metadata: { name },
    spec: { integration: 'openai', config: { baseUrl }, secret: { apiKey } },
  })
  await call('POST', path, connection('local', `${origin}/v1/`))
  const member = { headers: { authorization: `Bearer ${await addKey({})}` } }
  const models = await call('GET', `${path}/local/models`, undefined, member)
  t.match(models, { status: 200, body: { data: [{ id: 'one' }] } })
  t.match(asked, [{ url: '/v1/models', authorization: 'Bearer sk-hush' }])
  t.match(await call('GET', `${path}/local/models/org%2Fone`), { status: 200, body: { id: 'org/one' } })
  const failed: Readonly<Record<string, RegExp>> = {
    words: /did not answer JSON/,
    huge: /more than \d+ bytes/,
    away: /answered 302/,
    cut: /cannot be reached/,
    broken: /answered 500/,
  }
  for (const [id, message] of Object.entries(failed))
    t.match(
      await call('GET', `${path}/local/models/${id}`),
      { status: 424, body: { error: 'provider_failed', message } },
      id,
    )
  t.match(await call('GET', `${path}/local/endpointConfigurations`), {
    status: 200,
    body: { '/chat/completions': { token: { sent: 'usage.prompt_tokens' } } },
  })
  for (const id of ['..', '%2e%2e', 'a%2F..%2F..', '.'])
    t.equal((await call('GET', `${path}/local/models/${id}`)).status, 400, `${id} leads nowhere else`)

  const count = asked.length
  const away = { private: 'http://169.254.169.254/v1', other: 'http://127.0.0.1:1/v1', file: 'file:///etc/passwd' }
  for (const [name, url] of Object.entries({ ...away, user: origin.replace('//', '//a:b@') })) {
    await call('POST', path, connection(name, url))
    t.match(
      await call('GET', `${path}/${name}/models`),
      { status: 400, body: { message: /^spec.config.baseUrl/ } },
      name,
    )
  }
  await call('POST', path, connection('odd', origin, 'line\nbreak'))
  const odd = await call('GET', `${path}/odd/models`)
  t.match(odd, { status: 400, body: { message: /^spec.secret.apiKey/ } })
  t.notMatch(odd.text, /break/)
  t.equal(asked.length, count, 'nobody was asked')
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  const gone = await call('GET', `${path}/local/models`)
  t.match(gone, { status: 424, body: { message: /cannot be reached/ } })
  t.notMatch(gone.text, /hush/)
})
