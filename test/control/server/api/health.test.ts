/** What whoever watches over a host is told, and that it is true. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fail } from '../../../../shared/errors.ts'
import { silentLog } from '../../../../shared/log.ts'
import { hashKey } from '../../../../control/core/access/keys.ts'
import type { FaultPoint } from '../../../../control/drivers/fake/index.ts'
import { createMetrics } from '../../../../control/ops/metrics/metrics.ts'
import { notingLog } from '../../../../control/ops/metrics/noting-log.ts'
import { call } from '../../../support/call.ts'
import { fakeClock } from '../../../support/clock.ts'
import { testHost } from '../../../support/whole-host.ts'
import { until } from '../../../support/until.ts'

const sandbox = (name: string) => ({ metadata: { name }, spec: { runtime: { image: 'busybox', memory: 256 } } })

t.test('health is for everybody, at the root too, and says ok while it is', async t => {
  const { host } = await testHost(t)
  t.match(await call(host.api, 'GET', '/v0/healthz'), {
    status: 200,
    body: { status: 'ok', database: 'ok', drivers: 'ok', disk: 'ok', draining: false },
  })
  const { url } = await host.listen()
  t.equal((await fetch(`${url}/healthz`)).status, 200)
  t.equal((await fetch(`${url}/healthz/x`)).status, 404)
})

t.test('a database that cannot be written is seen, and that it can be again', async t => {
  const clock = fakeClock()
  const { host } = await testHost(t, { clock })
  const { upkeep } = host.store
  const { tryWriting } = upkeep
  const look = async () => {
    await clock.tick(1_001)
    return call(host.api, 'GET', '/v0/healthz')
  }
  const broken = upkeep as { tryWriting: typeof tryWriting }
  broken.tryWriting = async () => {
    throw fail('unavailable', { what: 'the disk at /secret/place is full', next: 'free some' })
  }
  const answer = await look()
  t.match(answer, { status: 503, body: { status: 'failing', database: 'cannot be written', drivers: 'ok' } })
  t.notMatch(JSON.stringify(answer.body), /secret/, 'nothing of the box is told')
  broken.tryWriting = tryWriting
  t.match(await look(), { status: 200 })
})

t.test('a driver that cannot list its machines is seen', async t => {
  const clock = fakeClock()
  let broken = false
  const faults = (point: FaultPoint) => {
    if (broken && point === 'list') throw new Error('no answer')
  }
  const { host } = await testHost(t, { clock, faults })
  broken = true
  await clock.tick(6_000)
  await until(async () => (await call(host.api, 'GET', '/v0/healthz')).status === 503, 'it is seen')
  t.match((await call(host.api, 'GET', '/v0/healthz')).body, { drivers: '1 cannot list its machines' })
})

t.test('measures are for an admin of the account alone, and count what happened', async t => {
  const { host, api, until: reaches } = await testHost(t)
  t.match(await call(host.api, 'GET', '/v0/metrics'), { status: 401 })
  const secret = 'hutch_member'
  const nobody = { workspace: 'default', accountAdmin: false, owner: null, person: null, defaultWorkspace: null }
  const member = { id: 'm', hash: hashKey(secret), name: 'm', account: 'default', role: 'admin' as const, ...nobody }
  await host.store.tenants.addApiKey({ ...member, createdAt: 0, expiresAt: null, scopes: null })
  const asMember = { authorization: `Bearer ${secret}` }
  t.match(await call(host.api, 'GET', '/v0/metrics', { headers: asMember }), { status: 403 })
  await api('POST', '/sandboxes', sandbox('a'))
  await reaches('a', 'DEPLOYED')
  const { url } = await host.listen()
  const headers = { authorization: `Bearer ${host.first.adminKey}` }
  await fetch(`${url}/default/sandboxes/none/x`, { headers }).then(answer => answer.text())
  const answer = await fetch(`${url}/metrics`, { headers })
  t.match(answer.headers.get('content-type'), /^text\/plain; version=/)
  const text = await answer.text()
  for (const line of [
    /^hutch_resources\{kind="sandbox",status="DEPLOYED"\} 1$/m,
    /^hutch_machines\{kind="sandbox",state="running"\} 1$/m,
    /^hutch_start_seconds_count\{way="create"\} 1$/m,
    /^hutch_gateway_requests_total\{status="4xx"\} 1$/m,
    /^hutch_meter_lag_seconds \d/m,
    /^hutch_data_free_bytes [1-9]/m,
    /^hutch_draining 0$/m,
    /^process_resident_memory_bytes [1-9]/m,
  ])
    t.match(text, line)
})

t.test('warnings and errors of the log are counted by event, those of named logs too', async t => {
  const metrics = createMetrics()
  const log = notingLog(silentLog, metrics.noted)
  log.warn('disk.low')
  log.with({ driver: 'x' }).error('driver.failed')
  log.info('nothing')
  const none = { resources: [], instances: [] }
  const text = await metrics.text({
    tally: async () => none,
    pools: async () => ({ pools: [], claimed: 0, missed: 0 }),
    meterLagMs: () => 0,
    disk: async () => ({ free: 1, size: 2 }),
    storage: async () => ({ used: 1, promised: 3, free: 7 }),
    draining: () => true,
  })
  t.match(text, /^hutch_log_lines_total\{level="warn",event="disk.low"\} 1$/m)
  t.match(text, /^hutch_log_lines_total\{level="error",event="driver.failed"\} 1$/m)
  t.notMatch(text, /nothing/)
  for (const line of [/used"\} 1$/m, /promised"\} 3$/m, /free"\} 7$/m]) t.match(text, line, 'hutch_storage_bytes')
  t.match(text, /^hutch_draining 1$/m)
})

t.test('a host that drains takes no new sandboxes and says when to come again; what is there stays', async t => {
  const { host, api, dataDir, until: reaches } = await testHost(t)
  await api('POST', '/sandboxes', sandbox('a'))
  await reaches('a', 'DEPLOYED')
  writeFileSync(join(dataDir, 'draining'), '')
  const refused = await call(host.api, 'POST', '/v0/sandboxes', {
    body: sandbox('b'),
    headers: { authorization: `Bearer ${host.first.adminKey}` },
  })
  t.match(refused, { status: 503, body: { error: 'DRAINING', status_code: 503 }, headers: { 'retry-after': '30' } })
  t.equal((await api('GET', '/sandboxes/b')).status, 404, 'nothing of it stays')
  t.match(await api('POST', '/sandboxes?createIfNotExist=true', sandbox('a')), { status: 200 }, 'one that is there is')
  t.match((await call(host.api, 'GET', '/v0/healthz')).body, { status: 'ok', draining: true })
  rmSync(join(dataDir, 'draining'))
  t.match(await api('POST', '/sandboxes', sandbox('b')), { status: 200 })
})
