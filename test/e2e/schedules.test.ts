/** Schedules of a real sandbox: a command runs at its time, wakes the sandbox, and is there after a crash of the server. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'
import { until } from '../support/until.ts'

skipFile(whyNoMachines())

t.test('a command that is scheduled for later wakes its sandbox, and its run is told', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '1' })
  const made = await s.call('POST', '/v0/sandboxes', {
    metadata: { name: 'web' },
    spec: { runtime: { image: 'svc/busybox:latest', memory: 256 } },
  })
  t.equal(made.status, 200, made.text)
  const at = '/v0/sandboxes/web/schedules'
  const input = { command: 'echo "$TOKEN" > /root/ran', env: { TOKEN: 'geheim' }, name: 'nightly-run' }
  const created = await s.call('POST', at, { type: 'sleep', value: '4s', input })
  t.match(created, { status: 200, body: { type: 'at', maxExecutions: 100, input: { keepAlive: true, timeout: 600 } } })
  t.equal(created.body.input.env.TOKEN, '***', 'secrets are not told again')
  t.match(await s.call('GET', `${at}?type=cron`), { body: { data: [], meta: { total: 1 } } })
  t.match(await s.call('GET', `${at}/${created.body.id}?show_secrets=true`), { body: { input: { env: input.env } } })
  await s.until('web', ({ state }) => state === 'STANDBY')
  const runs = async () => (await s.call('GET', '/v0/sandboxes/web/schedule-executions')).body
  await until(async () => (await runs()).data[0]?.status === 'succeeded', 'it has run')
  const [submitted] = (await runs()).data
  t.match(submitted, {
    statusCode: 200,
    scheduleId: created.body.id,
    processName: 'nightly-run',
    error: '',
    timeout: 600,
  })
  const file = `${made.body.metadata.url}/filesystem//root/ran`
  await until(async () => (await s.call('GET', file)).text.includes('geheim'), 'the command has written')
  t.equal((await s.call('GET', `${at}/${created.body.id}`)).status, 404, 'what fires once is gone')
  t.match(await s.call('GET', '/v0/schedules/metrics'), {
    body: { schedules: 0, executions: 1, executionsByStatus: { succeeded: 1, failed: 0 } },
  })
  t.match((await s.call('GET', '/v0/schedule-executions?status=succeeded&sandbox=web')).body, { meta: { total: 1 } })
})

t.test('a schedule survives the server: what was due meanwhile runs once after the start', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '600' })
  const made = await s.call('POST', '/v0/sandboxes', {
    metadata: { name: 'web' },
    spec: { runtime: { image: 'svc/busybox:latest', memory: 256 } },
  })
  t.equal(made.status, 200, made.text)
  const input = { command: 'echo once >> /root/ran' }
  const later = new Date(Date.now() + 3_000).toISOString()
  t.equal(
    (await s.call('POST', '/v0/sandboxes/web/schedules', { id: 'a', type: 'at', value: later, input })).status,
    200,
  )
  t.equal(
    (await s.call('POST', '/v0/sandboxes/web/schedules', { id: 'b', type: 'cron', value: '0 4 * * *', input })).status,
    200,
  )
  await s.kill()
  await new Promise(resolve => setTimeout(resolve, 4_000))
  await s.start()
  const runs = async () => (await s.call('GET', '/v0/schedule-executions')).body
  await until(async () => (await runs()).data[0]?.status === 'succeeded', 'it has run')
  t.match(await runs(), { data: [{ scheduleId: 'a', sandbox: 'web' }], meta: { total: 1 } })
  t.same(
    (await s.call('GET', '/v0/schedules?sandbox=web')).body.data.map(({ id }: { id: string }) => id),
    ['b'],
  )
})

t.test('what cannot be scheduled is refused and names the member', async t => {
  const s = await server(t)
  t.equal(
    (
      await s.call('POST', '/v0/sandboxes', {
        metadata: { name: 'web' },
        spec: { runtime: { image: 'svc/busybox:latest', memory: 256 } },
      })
    ).status,
    200,
  )
  const input = { command: 'true' }
  const refused = async (body: object, status: number, words: string) =>
    t.match(await s.call('POST', '/v0/sandboxes/web/schedules', body), { status, text: words })
  await refused({ type: 'cron', value: '* * *', input }, 400, 'value')
  await refused({ type: 'cron', value: '0 0 30 2 *', input }, 400, 'names no time')
  await refused({ type: 'at', value: 'tomorrow', input }, 400, 'value')
  await refused({ type: 'at', value: '2020-01-01T00:00:00Z', input }, 400, 'in the future')
  await refused({ type: 'sleep', value: 'a while', input }, 400, 'value')
  await refused({ type: 'sleep', value: '5s', input: { command: ' ' } }, 400, 'input.command')
  await refused({ type: 'sleep', value: '5s', input: { ...input, timeout: -1 } }, 400, 'timeout')
  await refused({ id: 'Ä', type: 'sleep', value: '5s', input }, 400, 'id')
  for (let at = 0; at < 100; at++)
    await s.call('POST', '/v0/sandboxes/web/schedules', { type: 'cron', value: '0 4 * * *', input })
  await refused({ type: 'cron', value: '0 4 * * *', input }, 400, '100')
})
