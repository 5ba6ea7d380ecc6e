/** Calls that are acknowledged at once: made afterwards, reported with a signature, and not forgotten by a restart. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { Sealer } from '../../../../control/core/secrets/secrets.ts'
import { openTestHost } from '../../../support/whole-host.ts'
import { workloadHost } from '../../../support/workloads.ts'

interface Told {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Somebody who is called back, and refuses the first so many times. */
const hook = async (t: Test, refusals = 0) => {
  const told: Told[] = []
  let left = refusals
  const server = createServer(async (message, response) => {
    told.push({ headers: message.headers, body: await text(message) })
    response.writeHead(left-- > 0 ? 503 : 200).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    url: `${origin}/done`,
    told,
    async until(count: number) {
      for (const end = performance.now() + 20_000; told.length < count; ) {
        if (performance.now() > end) throw new Error(`called back ${told.length} times, not ${count}`)
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    },
  }
}

const reachedEnd = async (look: () => boolean) => {
  for (const end = performance.now() + 5_000; !look() && performance.now() < end; )
    await new Promise(resolve => setTimeout(resolve, 20))
}

const verified = ({ headers, body }: Told, secret: string): boolean =>
  headers['x-svc-signature'] === `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

t.test('it is acknowledged, made, counted, and reported until that is heard', async t => {
  const { origin, url, told, until } = await hook(t, 1)
  const { deploy, reached, call, host, dataDir } = await workloadHost(t, { config: { callbackOrigins: [origin] } })
  const triggers = [{ type: 'http-async', configuration: { callbackUrl: url, retry: 2 } }]
  const made = await deploy('a', 'one', { triggers })
  const secret = made.spec.triggers[0].configuration.callbackSecret as string
  t.match(secret, /^.{32,}$/, 'told once')
  await reached('a', 'DEPLOYED')
  const answer = await call('/default/agents/a/wait?ms=200&async=true', {}, '{"inputs":"hi"}')
  t.match(answer, { status: 200, text: '{"success":true}' })
  await until(2)
  const [first, again] = told as [Told, Told]
  t.ok(verified(first, secret) && verified(again, secret), 'signed with the secret of the trigger')
  t.equal(first.headers['idempotency-key'], again.headers['idempotency-key'], 'the same for both attempts')
  t.match(JSON.parse(first.body), { status_code: 200, response_body: 'one', response_length: 3, timestamp: Number })
  t.equal(first.headers['x-svc-timestamp'], String(JSON.parse(first.body).timestamp))
  const uid =
    (await host.store.resources.get({ kind: 'agent', workspace: 'default', parent: '', name: 'a' }))?.uid ?? ''
  const usage = await host.store.meter.intervals(uid)
  t.match(
    usage.filter(({ dimension }) => dimension === 'agent_async_requests_count'),
    [{ quantity: 1 }],
  )
  await reachedEnd(() => readdirSync(join(dataDir, 'calls')).length === 0)
  t.same(readdirSync(join(dataDir, 'calls')), [], 'nothing is left of it')
})

t.test('without a callback nothing is sent; a call that takes too long is reported as that', async t => {
  const { origin, url, told, until } = await hook(t)
  const { deploy, reached, call } = await workloadHost(t, { config: { callbackOrigins: [origin] } })
  await deploy('quiet', 'one')
  await reached('quiet', 'DEPLOYED')
  t.equal((await call('/default/agents/quiet/?async=true', {}, '')).text, '{"success":true}')
  const triggers = [{ type: 'http-async', configuration: { path: '/slow', callbackUrl: url, timeout: 1 } }]
  await deploy('a', 'one', { triggers })
  await reached('a', 'DEPLOYED')
  t.equal((await call('/default/agents/a/slow')).text, '{"success":true}', 'at the path of the trigger')
  await until(1)
  t.equal((await call('/default/agents/a/')).text, 'one', 'elsewhere it is waited for')
  t.equal(told.length, 1)
})

t.test('a callback that leads into a private network is not made', async t => {
  const { url, told } = await hook(t)
  const { deploy, reached, call } = await workloadHost(t)
  await deploy('a', 'one', { triggers: [{ type: 'http-async', configuration: { callbackUrl: url, retry: 0 } }] })
  await reached('a', 'DEPLOYED')
  await call('/default/agents/a/?async=true', {}, '')
  await new Promise(resolve => setTimeout(resolve, 1_000))
  t.equal(told.length, 0)
})

t.test('after a restart one that waited is made, and one that was under way is reported as failed', async t => {
  const { origin, url, told, until } = await hook(t)
  const options = { config: { callbackOrigins: [origin] } }
  const dataDir = t.testdir()
  const first = await openTestHost(t, dataDir, options)
  const sealed = (first.host as unknown as { sealer: Sealer }).sealer.seal('secret')
  await first.close()
  const stored = (id: string, phase: string, callbackUrl: string) => {
    const callback = { url: callbackUrl, secret: sealed, retry: 0 }
    const owner = { uid: 'none', kind: 'agent', workspace: 'default', name: 'gone' }
    const call = { id, owner, method: 'POST', target: '/', headers: [], timeoutMs: 1_000, callback, phase, attempts: 0 }
    writeFileSync(join(dataDir, 'calls', `${id}.json`), JSON.stringify(call))
    writeFileSync(join(dataDir, 'calls', `${id}.body`), '')
  }
  stored('one', 'waiting', url)
  stored('two', 'begun', url)
  const { host } = await openTestHost(t, dataDir, options)
  await host.listen()
  await until(2)
  t.same(told.map(({ body }) => JSON.parse(body).status_code).toSorted(), [404, 503])
})
