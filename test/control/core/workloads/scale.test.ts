/** How many machines an agent has: by the calls that are under way, and none when nobody has called for long. */
import t from 'tap'
import { workloadHost } from '../../../support/workloads.ts'

const settled = async (look: () => Promise<boolean>) => {
  for (const end = performance.now() + 30_000; performance.now() < end; ) {
    if (await look()) return true
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return false
}

t.test('calls beyond what a machine takes get another, wait, or are told to come back', async t => {
  const { deploy, reached, call, world } = await workloadHost(t)
  await deploy('a', 'one', { runtime: { concurrency: 2, maxScale: 2 } })
  await reached('a', 'DEPLOYED')
  t.equal(world.machines.size, 1)
  const calls = Array.from({ length: 4 }, () => call('/default/agents/a/wait?ms=1500'))
  t.ok(await settled(async () => world.machines.size === 2), 'a second machine')
  t.same([...new Set((await Promise.all(calls)).map(({ status }) => status))], [200])
  const many = await Promise.all(Array.from({ length: 20 }, () => call('/default/agents/a/wait?ms=400')))
  const refused = many.filter(({ status }) => status === 429)
  t.ok(refused.length > 0 && refused.length <= 20 - 4 - 8, `${refused.length} refused`)
  t.match(refused[0], { headers: { 'retry-after': /^\d+$/, 'x-svc-error-code': 'TOO_MANY_CALLS' } })
  t.equal(many.filter(({ status }) => status === 200).length, 20 - refused.length)
  t.equal(world.machines.size, 2, 'no more than maxScale')
})

t.test('as many as minScale run from the start, and do not sleep', async t => {
  const { deploy, reached, world } = await workloadHost(t, { config: { standbyAfterMs: 100 } })
  await deploy('a', 'one', { runtime: { minScale: 2 } })
  await reached('a', 'DEPLOYED')
  t.equal(world.machines.size, 2)
  await new Promise(resolve => setTimeout(resolve, 500))
  t.same(
    [...world.machines.values()].map(({ phase }) => phase),
    ['running', 'running'],
  )
})

t.test('idle it is frozen, later removed, and the next call makes one', async t => {
  const { deploy, reached, call, world, api } = await workloadHost(t, {
    config: { standbyAfterMs: 100, removeAfterMs: 700 },
  })
  await deploy('a', 'one')
  await reached('a', 'DEPLOYED')
  t.ok(await settled(async () => [...world.machines.values()].every(({ phase }) => phase === 'frozen')), 'frozen')
  t.equal((await call('/default/agents/a/')).text, 'one', 'woken')
  t.ok(await settled(async () => world.machines.size === 0), 'removed')
  t.equal((await api('GET', '/agents/a')).body.status, 'DEPLOYED')
  t.equal((await call('/default/agents/a/')).text, 'one', 'made anew')
})

t.test('a server that has ended is started again', async t => {
  const { deploy, reached, call, world } = await workloadHost(t)
  await deploy('a', 'one')
  await reached('a', 'DEPLOYED')
  t.equal((await call('/default/agents/a/die')).text, 'bye')
  t.match(await call('/default/agents/a/', { connection: 'close' }), { status: 502 })
  t.ok(await settled(async () => (await call('/default/agents/a/')).text === 'one'), 'it answers again')
  t.ok(
    world.journal.some(line => line.startsWith('end ')),
    'its machine was ended and started',
  )
})
