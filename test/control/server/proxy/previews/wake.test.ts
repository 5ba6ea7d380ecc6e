/** A sandbox that sleeps wakes when somebody comes to a preview of it, by name, by path or with a socket. */
import { once } from 'node:events'
import t from 'tap'
import WebSocket from 'ws'
import { previewHost } from '../../../../support/previews.ts'
import { until } from '../../../../support/until.ts'

t.test('each way in wakes it, and who may not come in does not', async t => {
  const s = await previewHost(t, { config: { standbyAfterMs: 600, reclaimAfterMs: 600_000 } })
  const { host, path } = await s.preview('app')
  const closed = await s.preview('closed', { public: false })
  const stateOf = async () => (await s.api('GET', '/sandboxes/web')).body.state
  const asleep = () => until(async () => (await stateOf()) === 'STANDBY', 'that it sleeps')
  await s.until('web', 'DEPLOYED')
  for (const [name, come] of [
    ['by name', async () => (await s.get(host, '/')).status],
    ['by path', async () => (await s.get(s.local, `${path}/`)).status],
    [
      'with a socket',
      async () => {
        const socket = new WebSocket(`ws://127.0.0.1:${s.port}/hot`, { headers: { host } })
        await once(socket, 'message')
        const state = await stateOf()
        socket.terminate()
        return state === 'RUNNING' ? 200 : 0
      },
    ],
  ] as const) {
    await asleep()
    t.equal(await come(), 200, name)
    t.equal(await stateOf(), 'RUNNING', name)
  }
  await asleep()
  t.equal((await s.get(closed.host, '/')).status, 401)
  t.equal((await s.get(closed.host, '/', { 'x-svc-preview-token': 'guessed' })).status, 401)
  t.equal(await stateOf(), 'STANDBY', 'strangers wake nobody')
})
