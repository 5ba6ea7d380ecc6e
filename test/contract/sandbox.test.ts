/** The contract of the per-sandbox API, kept by a sandbox behind the gateway, by path and by host. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { suite } from './suite.ts'
import { system } from './system.ts'
import { ask, clientUpload, type Target } from './target.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

t.test('a sandbox', async t => {
  const s = await server(t)
  const made = await s.call('POST', '/v0/sandboxes', {
    metadata: { name: 'contract' },
    spec: { runtime: { image: 'svc/base-image:latest', memory: 1024 } },
  })
  t.equal(made.status, 200)
  const headers = {
    'x-svc-authorization': `Bearer ${s.key}`,
    'x-svc-workspace': 'default',
    'svc-version': '2026-04-28',
    'user-agent': 'client/1.0',
  }
  const url = new URL(made.body.metadata.url).href
  const bare: Target = { url, headers, workdir: '', scratch: '/tmp/contract', gateway: true, ownNetwork: true }
  const { path: workdir } = (await ask(bare, 'GET', '/filesystem/')).body
  const target = { ...bare, workdir }
  t.equal((await ask(target, 'PUT', '/filesystem%2Ftmp/contract', { body: { isDirectory: true } })).status, 200)

  await suite(t, target)

  await t.test('a base address that ends in a slash', async t => {
    const slashed = '//filesystem//tmp/contract/slashed.bin'
    t.equal((await ask(target, 'PUT', slashed, clientUpload('slashed.bin', Buffer.from('bytes')))).status, 200)
    t.match((await ask(target, 'GET', '/filesystem/%2Ftmp%2Fcontract%2Fslashed.bin')).body, { content: 'bytes' })
  })

  await t.test('by its host name', async t => {
    const host = { ...target, url: s.url, headers: { ...headers, host: 'sbx-contract-default.local.example' } }
    await system(t, host)
  })

  await t.test('without a key nothing is told', async t => {
    const { status, body } = await ask(target, 'GET', '/health', { bare: true })
    t.equal(status, 401)
    t.match(body, { error: { code: String, message: String, origin: 'platform' } })
  })
})
