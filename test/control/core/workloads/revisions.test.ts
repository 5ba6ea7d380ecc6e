/** Which revision of an agent answers: the one that is ready, a canary beside it, the one before. */
import t from 'tap'
import { workloadHost } from '../../../support/workloads.ts'

t.test('another revision takes over when it is ready, and the one before is back at once', async t => {
  const { deploy, reached, call, revisions, world } = await workloadHost(t)
  const one = (await deploy('a', 'one')).spec.revision.active
  await reached('a', 'DEPLOYED')
  t.equal((await call('/default/agents/a/')).text, 'one')
  const two = (await deploy('a', 'two')).spec.revision.active
  t.equal((await call('/default/agents/a/')).status, 200, 'somebody answers meanwhile')
  const deployed = await reached('a', 'DEPLOYED')
  t.match(deployed.events.at(-1), { status: 'DEPLOYED', revision: two })
  t.equal((await call('/default/agents/a/')).text, 'two')
  t.match(await revisions('a'), [
    { id: two, active: true, status: 'DEPLOYED', trafficPercent: 100 },
    { id: one, previousActive: true, status: 'DEACTIVATED', trafficPercent: 0 },
  ])
  const made = world.journal.filter(line => line.startsWith('create')).length
  await deploy('a', 'two', { revision: { active: one } })
  await reached('a', 'DEPLOYED')
  t.equal((await call('/default/agents/a/')).text, 'one')
  t.equal(world.journal.filter(line => line.startsWith('create')).length, made, 'by a machine that was there')
})

t.test('a revision that does not become ready gets no call, and the next one is deployed', async t => {
  const { deploy, reached, call, revisions } = await workloadHost(t)
  await deploy('a', 'one')
  await reached('a', 'DEPLOYED')
  const broken = (await deploy('a', 'deaf')).spec.revision.active
  const answers = new Set<string>()
  for (let at = 0; at < 10; at++) answers.add((await call('/default/agents/a/')).text)
  const failed = await reached('a', 'FAILED')
  t.match(failed.events.at(-1), { revision: broken, message: /^STARTUP TCP probe failed/ })
  for (let at = 0; at < 10; at++) answers.add((await call('/default/agents/a/')).text)
  t.same([...answers], ['one'])
  t.match(await revisions('a'), [{ id: broken, status: 'FAILED', trafficPercent: 0 }, { trafficPercent: 100 }])
  await deploy('a', 'three')
  await reached('a', 'DEPLOYED')
  t.equal((await call('/default/agents/a/')).text, 'three')
})

t.test('a canary gets its part, none while it is not ready, and none when it is broken', async t => {
  const { deploy, reached, call, revisions } = await workloadHost(t)
  const one = (await deploy('a', 'one')).spec.revision.active
  await reached('a', 'DEPLOYED')
  const { active, canary, canaryPercent } = (await deploy('a', 'two', { revision: { active: one, traffic: 50 } })).spec
    .revision
  t.match({ active, canaryPercent }, { active: one, canaryPercent: 50 })
  t.ok(canary && canary !== one)
  t.equal((await call('/default/agents/a/')).text, 'one')
  const counted = async () => {
    const counts: Record<string, number> = {}
    for (let at = 0; at < 20; at++) {
      const { text } = await call('/default/agents/a/')
      counts[text] = (counts[text] ?? 0) + 1
    }
    return counts
  }
  for (const end = performance.now() + 30_000; performance.now() < end; ) {
    if ((await call('/default/agents/a/')).text === 'two') break
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  t.same(await counted(), { one: 10, two: 10 })
  t.match(await revisions('a'), [{ id: canary, canary: true, status: 'DEPLOYED', trafficPercent: 50 }, { id: one }])
  const sticky = { revision: { active: one, canary, canaryPercent: 50, stickySessionTtl: 60 } }
  await deploy('a', 'two', sticky)
  for (const thread of ['t1', 't2', 't3', 't4', 't5', 't6']) {
    const seen = new Set<string>()
    for (let at = 0; at < 4; at++) seen.add((await call('/default/agents/a/', { 'x-svc-thread-id': thread })).text)
    t.equal(seen.size, 1, `thread ${thread} stays`)
  }
  const first = await call('/default/agents/a/')
  const [cookie = ''] = first.headers['set-cookie'] ?? []
  t.match(cookie, /^svc-revision=\w+; Path=\/default\/agents\/a; Max-Age=60; HttpOnly; SameSite=Lax$/)
  for (let at = 0; at < 4; at++)
    t.equal((await call('/default/agents/a/', { cookie: cookie.split(';')[0] as string })).text, first.text)
  const broken = (await deploy('a', 'deaf', { revision: { active: one, traffic: 50 } })).spec.revision.canary
  t.not(broken, canary)
  for (const end = performance.now() + 30_000; performance.now() < end; ) {
    const [newest] = await revisions('a')
    if (newest.status === 'FAILED') break
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  t.match((await revisions('a'))[0], { id: broken, status: 'FAILED', trafficPercent: 0 })
  t.same(await counted(), { one: 20 })
})
