import { mkdirSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { daemon } from '../../support/daemon.ts'

t.test('the root says what this is to every method', async t => {
  const { call } = await daemon(t)
  for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
    const { status, body } = await call(method, '/')
    t.equal(status, 200, method)
    t.match(body, { message: /./, documentation: /./, description: /./ })
  }
})

t.test('health has every field clients read', async t => {
  const { call } = await daemon(t, { env: { SANDBOX_UPGRADE_COUNT: '3' } })
  const { status, body } = await call('GET', '/health')
  t.equal(status, 200)
  t.match(body, {
    status: 'ok',
    version: 'dev',
    gitCommit: 'unknown',
    buildTime: 'unknown',
    goVersion: process.version,
    os: 'linux',
    arch: /^(amd64|arm64|386|arm)$/,
    uptime: /^\d+s$/,
    uptimeSeconds: Number,
    upgradeCount: 3,
    startedAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  })
  t.same(body.lastUpgrade, { status: 'idle', step: 'none', version: '' })
})

t.test('a reload applies the metadata document to what is started from now on', async t => {
  const { call, config, daemon: made } = await daemon(t, { env: { BOOT: 'boot' } })
  const write = (document: unknown) => writeFileSync(config.metadataPaths[0] as string, JSON.stringify(document))
  t.equal((await call('POST', '/environment/reload')).status, 404, 'no document yet')
  write({ generation: 1, environment: { A: '1', B: '2', BOOT: 'x' } })
  const first = await call('POST', '/environment/reload')
  t.same([first.status, first.body], [200, { generation: 1, applied: 3, removed: 0 }])
  write({ generation: 2, environment: { A: '3' } })
  t.same((await call('POST', '/environment/reload')).body, { generation: 2, applied: 1, removed: 2 })
  const { A, B, BOOT } = made.core.environment.all()
  t.same([A, B, BOOT], ['3', undefined, undefined])
})

t.test('a document that cannot be used is 500 and changes nothing', async t => {
  const { call, config, daemon: made } = await daemon(t)
  writeFileSync(config.metadataPaths[0] as string, JSON.stringify({ generation: 1, environment: { A: '1' } }))
  await call('POST', '/environment/reload')
  for (const bad of ['', '{', '[]', '{"environment":{"A=B":"x"}}', '{"environment":{"A":7}}', '{"generation":"x"}']) {
    writeFileSync(config.metadataPaths[0] as string, bad)
    const { status, body } = await call('POST', '/environment/reload')
    t.equal(status, 500, bad)
    t.match(body.error, /metadata document/)
    t.equal(made.core.environment.get('A'), '1')
  }
})

t.test('a metadata path that is a directory is 500', async t => {
  const { call, config } = await daemon(t)
  mkdirSync(config.metadataPaths[0] as string)
  t.equal((await call('POST', '/environment/reload')).status, 500)
})

t.test('an upgrade without a release channel answers 200 and is skipped', async t => {
  const { call, daemon: made } = await daemon(t)
  const { status, body } = await call('POST', '/upgrade')
  t.equal(status, 200)
  t.match(body, { message: /./, version: 'latest', baseUrl: '' })
  t.equal((await call('GET', '/health')).body.lastUpgrade.status, 'running')
  t.equal((await call('POST', '/upgrade')).status, 409, 'one at a time')
  await made.system.upgrades.settled()
  t.match((await call('GET', '/health')).body.lastUpgrade, {
    status: 'failed',
    step: 'skipped',
    version: 'latest',
    lastAttempt: /^\d{4}-/,
    error: /release channel/,
  })
})

t.test('any body will do for an upgrade, but a version must be one', async t => {
  const { call, daemon: made } = await daemon(t)
  for (const [body, version] of [
    ['{', 'latest'],
    ['[]', 'latest'],
    ['"x"', 'latest'],
    ['null', 'latest'],
    ['{"version":7,"baseUrl":{}}', 'latest'],
    ['{"version":""}', 'latest'],
    ['x'.repeat(100_000), 'latest'],
    ['{"version":"develop"}', 'develop'],
    ['{"version":"v1.2.3-rc.1+x"}', 'v1.2.3-rc.1+x'],
  ] as const) {
    const answer = await call('POST', '/upgrade', { body })
    t.equal(answer.status, 200, body.slice(0, 40))
    t.equal(answer.body.version, version)
    await made.system.upgrades.settled()
  }
  for (const version of ['..', '../../evil', 'a/b', 'a%2fb', '\0', ' ', 'x'.repeat(200), '.', 'a..b']) {
    const { status, body } = await call('POST', '/upgrade', { body: { version } })
    t.equal(status, 400, JSON.stringify(version).slice(0, 40))
    t.match(body.error, /^version: /)
  }
})

t.test('a defect is a 500 with a text, and the daemon goes on; it can be asked for in development only', async t => {
  const plain = await daemon(t)
  t.equal((await plain.call('GET', '/debug/panic')).status, 404)
  await plain.close()
  const { call } = await daemon(t, { env: { SVC_ENV: 'dev' } })
  const { status, body } = await call('GET', '/debug/panic', { headers: { 'x-request-id': 'r-1' } })
  t.equal(status, 500)
  t.same(body, { error: 'internal error (request r-1)' })
  t.equal((await call('GET', '/health')).status, 200)
})
