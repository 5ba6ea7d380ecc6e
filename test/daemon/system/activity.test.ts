import t from 'tap'
import { daemon } from '../../support/daemon.ts'

t.test('drives belong to the configured ids, else to nobody in particular where workloads are root', async t => {
  const owner = async (env: Record<string, string>) =>
    (await (await daemon(t, { env })).call('GET', '/system/activity')).body.drives
  t.strictSame(await owner({}), { uidMap: '', gidMap: '' })
  t.strictSame(await owner({ SVCFS_UID_MAP: '7' }), { uidMap: '7', gidMap: '' })
})

t.test('keep-alive processes are counted while they run', async t => {
  const { call } = await daemon(t)
  const count = async () => (await call('GET', '/system/activity')).body.keepAlive
  t.equal(await count(), 0)
  const { body } = await call('POST', '/process', { body: { command: 'sleep 1000', keepAlive: true, timeout: 0 } })
  await call('POST', '/process', { body: { command: 'true', waitForCompletion: true } })
  t.equal(await count(), 1)
  t.equal((await call('DELETE', `/process/${body.pid}/kill`)).status, 200)
  for (let i = 0; i < 3000 && (await count()) !== 0; i++) await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(await count(), 0)
})

t.test('before it sleeps a daemon tidies up, unless something keeps it awake', async t => {
  let tidied = 0
  const { call } = await daemon(t, { tidy: () => void tidied++ })
  await call('GET', '/system/activity')
  await call('GET', '/system/activity?sleeps=false')
  t.equal(tidied, 0)
  await call('GET', '/system/activity?sleeps=true')
  t.equal(tidied, 1)
  await call('POST', '/process', { body: { command: 'sleep 1000', keepAlive: true, timeout: 0 } })
  t.match((await call('GET', '/system/activity?sleeps=true')).body, { keepAlive: 1 })
  t.equal(tidied, 1)
})
