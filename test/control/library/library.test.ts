import t from 'tap'
import type { Hutch } from '../../../control/index.ts'
import { testHost } from '../../support/host.ts'
import { until } from '../../support/until.ts'

const gone = (host: Hutch, name: string) =>
  until(async () => (await host.sandboxes.get(name)).status === 'TERMINATED', `${name} to be gone`)

t.test('a sandbox from creation to deletion, without a socket', async t => {
  const { host, world } = await testHost(t)
  const made = await host.sandboxes.create({
    name: 'a',
    memoryMb: 512,
    env: { PLAIN: 'one' },
    secrets: { TOKEN: 'hush' },
    ttl: '1h',
    labels: { team: 'x' },
  })
  t.match(made, {
    metadata: { name: 'a', workspace: 'default', createdBy: 'library', labels: { team: 'x' } },
    spec: { runtime: { memory: 512, ttl: '1h', envs: [{ value: 'one' }, { name: 'TOKEN', value: '***' }] } },
  })

  const run = await host.sandboxes.exec('a', 'echo "$PLAIN $TOKEN $FROM_IMAGE $SVC_NAME"; echo bad >&2; exit 3')
  t.same(run, { exitCode: 3, status: 'failed', stdout: 'one hush yes a\n', stderr: 'bad\n' })

  t.match(await host.sandboxes.get('a'), { status: 'DEPLOYED', state: 'RUNNING' })
  t.match(await host.sandboxes.list({ q: 'team' }), { data: [{ metadata: { name: 'a' } }], meta: { total: 1 } })
  t.match(await host.sandboxes.update('a', { metadata: { displayName: 'A' } }), { metadata: { displayName: 'A' } })

  t.match(await host.sandboxes.delete('a'), { status: 'DELETING' })
  await gone(host, 'a')
  t.equal(world.machines.size, 0, 'nothing is left of it')
})

t.test('sandboxes outlive the host that made them', async t => {
  const { host, reopen, world } = await testHost(t)
  await host.sandboxes.create({ name: 'a' })
  await host.sandboxes.exec('a', 'echo kept > file')
  await host.close()
  t.equal(world.machines.size, 1)
  const next = await reopen()
  t.match(await next.sandboxes.exec('a', 'cat file'), { exitCode: 0, stdout: 'kept\n' })
  t.equal(next.adminKey, host.adminKey)
})

t.test('a changed environment replaces the machine', async t => {
  const { host, world } = await testHost(t)
  await host.sandboxes.create({ name: 'a', env: { X: 'old' } })
  t.match(await host.sandboxes.exec('a', 'echo $X > file; cat file'), { stdout: 'old\n' })
  const change = { spec: { runtime: { envs: [{ name: 'X', value: 'new' }] } } }
  t.match(await host.sandboxes.update('a', change), { status: 'DEPLOYING' })
  t.match(await host.sandboxes.exec('a', 'echo $X'), { stdout: 'new\n' })
  t.same(
    world.journal.map(line => line.split(' ')[0]),
    ['create', 'remove', 'create'],
  )
  await host.sandboxes.update('a', { metadata: { labels: { k: 'v' } }, spec: { runtime: { ttl: '9h' } } })
  await host.sandboxes.exec('a', 'true')
  t.equal(world.journal.length, 3, 'a label or a ttl does not')
})

t.test('use is accounted for, and the same host serves HTTP', async t => {
  const { host } = await testHost(t)
  await host.sandboxes.create({ name: 'a' })
  await host.sandboxes.exec('a', 'true')
  const now = Date.now()
  const [startTime, endTime] = [now - 3_600_000, now + 3_600_000].map(time => new Date(time).toISOString())
  const usage = { startTime: startTime as string, endTime: endTime as string, groupBy: 'billing_dimension' }
  await until(async () => {
    const { data } = await host.usage(usage)
    return data.some(({ billingDimension }) => billingDimension === 'sandbox_compute_runtime_gbs')
  }, 'the first usage')
  const { url } = await host.listen()
  const headers = { authorization: `Bearer ${host.adminKey}` }
  const answer = await fetch(`${url}/v0/sandboxes/a`, { headers })
  t.equal(answer.status, 200)
  const { metadata } = (await answer.json()) as { metadata: { url: string } }
  const inside = await fetch(`${metadata.url}/process`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ command: 'echo hi', waitForCompletion: true }),
  })
  t.match(await inside.json(), { stdout: 'hi\n', exitCode: 0 })
})

t.test('images of the host are listed, brought in by the operator and forgotten', async t => {
  const { host } = await testHost(t)
  t.match(await host.images.list(), [{ name: 'base', env: { FROM_IMAGE: 'yes' }, labels: {} }])
  await t.rejects(host.images.import('app', 'nothing'), {
    code: 'invalid_argument',
    message: /^FROM: "nothing" is neither/,
  })
  await t.rejects(host.images.remove('app'), { code: 'not_found' })
})
