import t from 'tap'
import { policyOf } from '../../../../../control/core/kinds/sandbox/network/policy.ts'
import { environmentOf, storedSandbox } from '../../../../../control/core/kinds/sandbox/stored.ts'
import type { Instance, Resource, Store, WritableStore } from '../../../../../control/core/store/store.ts'
import { control } from '../../../../support/control.ts'
import { become, instanceOf, putInstance } from '../../../../support/records.ts'

const row = async (store: Store, name: string): Promise<Resource> => {
  const found = await store.resources.get({ kind: 'sandbox', workspace: 'default', parent: '', name })
  if (!found) throw new Error(`no sandbox ${name}`)
  return found
}

/** What is written when the machine is up. */
const deployed = async (store: WritableStore, name: string, given: Partial<Instance> = {}, since?: number) => {
  const found = await row(store, name)
  await become(store, found.uid, { status: 'DEPLOYED' })
  const rates = since === undefined ? [] : [{ dimension: 'sandbox_compute_runtime_gbs', quantity: 1 }]
  await putInstance(store, instanceOf(found, given), rates)
}

t.test('a new sandbox has its defaults, its address, an event, and is handed to the reconciler', async t => {
  const { call, store, poked } = await control(t)
  const { status, body } = await call('POST', '/sandboxes', {})
  t.equal(status, 200)
  t.match(body.metadata.name, /^sandbox-[a-z0-9]{8}$/)
  t.match(body, {
    metadata: {
      workspace: 'default',
      url: /^http:\/\/.*[^/]$/,
      createdAt: '2026-01-01T00:00:00.000Z',
      createdBy: 'admin',
      updatedBy: 'admin',
    },
    spec: { enabled: true, region: 'local', runtime: { image: 'svc/base-image:latest', memory: 4096 } },
    status: 'DEPLOYING',
    events: [{ type: 'deployment', status: 'DEPLOYING', time: '2026-01-01T00:00:00.000Z' }],
  })
  t.equal(Object.hasOwn(body, 'expiresIn'), false)
  t.same(poked, [`sandbox/${(await row(store, body.metadata.name)).uid}`])
})

t.test('lists and maps come as JSON or as text holding JSON, and are answered in the form they came in', async t => {
  const { call, store, sealer } = await control(t)
  const wanted = {
    allowedDomains: ['*.a.com'],
    forbiddenDomains: ['b.com'],
    firewall: { rulesets: ['proxy'] },
    proxy: {
      allowedDomains: ['GET:c.com/x'],
      bypass: ['d.com'],
      routing: [{ destinations: ['*'], headers: { A: '{{SECRET:k}}' }, body: { b: 'c' } }],
    },
  }
  const text = (value: unknown) => JSON.stringify(value)
  const [rule] = wanted.proxy.routing
  const asText = {
    allowedDomains: text(wanted.allowedDomains),
    forbiddenDomains: text(wanted.forbiddenDomains),
    firewall: { rulesets: text(wanted.firewall.rulesets) },
    proxy: {
      allowedDomains: text(wanted.proxy.allowedDomains),
      bypass: text(wanted.proxy.bypass),
      routing: [{ destinations: text(rule?.destinations), headers: text(rule?.headers), body: text(rule?.body) }],
    },
  }
  const wholeRules = { proxy: { routing: text(wanted.proxy.routing) } }
  const mixed = { allowedDomains: ['a.com'], forbiddenDomains: '["b.com"]', proxy: {} }
  for (const [name, network] of Object.entries({ a: wanted, b: asText, c: wholeRules, d: mixed })) {
    const made = await call('POST', '/sandboxes', { metadata: { name }, spec: { network } })
    t.same(made.body.spec.network, network, name)
    await deployed(store, name)
    t.same((await call('PUT', `/sandboxes/${name}`, made.body)).body.spec, made.body.spec, `${name}: sent back`)
    const policies = policyOf(storedSandbox(await row(store, name)).network, sealer)
    if (name !== 'd') t.same(policies.routing[0], { ...rule, secrets: {} }, `${name}: the policy is of values`)
  }
})

t.test('the proxy is on or off from the start', async t => {
  const { call, store } = await control(t)
  const make = async (name: string, network?: object) => {
    const made = await call('POST', '/sandboxes', { metadata: { name }, spec: { network } })
    await deployed(store, name)
    return made
  }
  for (const [network, message] of [
    [
      { proxy: { routing: [{ destinations: [] }] } },
      /^spec.network.proxy.routing.0.destinations: must name at least one/,
    ],
    [{ subnet: 'mine' }, /^spec.network.subnet: subnet "mine" not found/],
  ] as const)
    t.match(await call('POST', '/sandboxes', { spec: { network } }), { status: 400, body: { message } })
  await make('off')
  const on = await call('PUT', '/sandboxes/off', { spec: { network: { allowedDomains: ['a.com'] } } })
  t.match(on, { status: 400, body: { message: /^spec.network.allowedDomains: the proxy is switched on when/ } })
  t.equal((await call('PUT', '/sandboxes/off', { spec: { network: { proxy: {} } } })).status, 400, 'an empty one, too')
  t.same((await make('on', { proxy: {} })).body.spec.network, { proxy: {} }, 'an empty proxy is one')
  await call('PUT', '/sandboxes/on', { spec: {} })
  t.equal(storedSandbox(await row(store, 'on')).held, true, 'cleared, it passes everything through')
  t.equal((await call('PUT', '/sandboxes/on', { spec: { network: { allowedDomains: ['a.com'] } } })).status, 200)
  const { body } = await call('GET', '/sandboxes/on')
  t.equal(Object.hasOwn(body.spec, 'held'), false)
  t.equal(Object.hasOwn(body.spec, 'networkTexts'), false)
})

t.test('canaries are sealed, shown masked, and kept when they come back masked', async t => {
  const { call, store, sealer } = await control(t)
  const network = { proxy: { canaries: { bait: 'hush-canary' }, canary: 'strict', mode: 'shadow' } }
  const made = await call('POST', '/sandboxes', { metadata: { name: 'a' }, spec: { network } })
  t.same(made.body.spec.network.proxy, { canaries: { bait: '***' }, canary: 'strict', mode: 'shadow' })
  await deployed(store, 'a')
  await call('PUT', '/sandboxes/a', made.body)
  t.notMatch(JSON.stringify(await row(store, 'a')), /hush/)
  t.same(policyOf(storedSandbox(await row(store, 'a')).network, sealer).canaries, { bait: 'hush-canary' })
})

t.test('ports, protocols in any case, extra arguments and lifecycle are kept', async t => {
  const { call } = await control(t)
  const spec = {
    region: 'auto',
    lifecycle: { expirationPolicies: [{ type: 'ttl-idle', value: '2h' }], terminatedRetention: '1h' },
    runtime: {
      ports: [{ target: 8080, protocol: 'tcp', name: 'web' }, { target: 3000 }],
      extraArgs: '{"tun":"disabled"}',
      terminationGracePeriodSeconds: 3,
    },
  }
  t.match((await call('POST', '/sandboxes', { metadata: { name: 'a' }, spec })).body.spec, {
    region: 'local',
    lifecycle: {
      expirationPolicies: [{ type: 'ttl-idle', value: '2h', action: 'delete' }],
      terminatedRetention: '1h',
    },
    runtime: {
      ports: [{ target: 8080, protocol: 'TCP', name: 'web' }, { target: 3000 }],
      extraArgs: { tun: 'disabled' },
      terminationGracePeriodSeconds: 3,
    },
  })
})

t.test('what would do nothing is refused, and what does nothing is named', async t => {
  const { call } = await control(t, {
    wireNames: [
      { header: 'Svc', short: 'svc', image: 'svc' },
      { header: 'Acme', short: 'ac', image: 'ac' },
    ],
  })
  const refused: [string, object, RegExp][] = [
    ['/sandboxes', { runtime: { extraArgs: { tun: 'disabled', nfs: 'enabled' } } }, /^spec.runtime.extraArgs.nfs: /],
    ['/volume_templates?upload=true', {}, /^upload: /],
  ]
  for (const [path, spec, message] of refused)
    t.match(await call('POST', path, { metadata: { name: 'b' }, spec }), { status: 400, body: { message } })
  const spec = {
    runtme: { memory: 1 },
    runtime: { envs: JSON.stringify([{ name: 'A', valueFrom: { secret: 'x' } }]), ports: [{ target: 1, tagret: 2 }] },
    network: { egress: { policies: [{ name: 'x', mode: 'shared' }] } },
  }
  const made = await call('POST', '/sandboxes', { metadata: { name: 'a', labels: { any: 'x' }, plan: 'gold' }, spec })
  const warnings = [
    'spec.runtme is not known',
    'spec.runtime.envs.0.valueFrom is not known',
    'spec.runtime.ports.0.tagret is not known',
    'spec.network.egress.policies has no effect',
  ]
  t.equal(made.status, 200)
  t.equal(made.headers['x-svc-warnings'], warnings.map(text => JSON.stringify(text)).join(', '))
  t.equal(made.headers['x-acme-warnings'], made.headers['x-svc-warnings'])
  const again = await call('PUT', '/sandboxes/a', { ...made.body, spec: { ...made.body.spec, network: {} } })
  t.equal(again.status, 200)
  t.equal(again.headers['x-svc-warnings'], undefined, 'clients send back what they have read')
  const many = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [`\r\nX-Evil: ${at}\u2028"é${'n'.repeat(300)}`, 1]),
  )
  const header = String((await call('PUT', '/sandboxes/a', many)).headers['x-svc-warnings'])
  t.match(header, /^"\\r\\nX-Evil: 0\\u2028\\"\\u00e9n+\\u2026 is not known", .*, "and \d+ more"$/)
  t.ok(header.length < 2_100 && /^[\x20-\x7e]+$/.test(header))
})

t.test(
  'the size of a disk is told to have no effect where disks have no end, and nothing is told where they have one',
  async t => {
    const warned = async (disks: boolean) => {
      const { call } = await control(t, { disks })
      const made = await call('POST', '/sandboxes', { metadata: { name: 'a' }, spec: { runtime: { storageMb: 64 } } })
      t.match(made, { status: 200, body: { spec: { runtime: { storageMb: 64 } } } })
      return made.headers['x-svc-warnings']
    }
    t.equal(await warned(false), '"spec.runtime.storageMb has no effect"')
    t.equal(await warned(true), undefined)
  },
)

t.test('secrets are sealed in the store, masked in answers, and survive being sent back masked', async t => {
  const { call, store, sealer, poked } = await control(t)
  const spec = {
    runtime: {
      envs: [
        { name: 'PLAIN', value: 'seen' },
        { name: 'TOKEN', value: 'hush-env', secret: true },
      ],
    },
    network: {
      proxy: { routing: [{ destinations: ['a.com'], headers: { H: '{{SECRET:k}}' }, secrets: { k: 'hush-proxy' } }] },
    },
  }
  const made = await call('POST', '/sandboxes', { metadata: { name: 'a' }, spec })
  const seen = [made.text, (await call('GET', '/sandboxes/a')).text, (await call('GET', '/sandboxes')).text]
  for (const text of seen) t.notMatch(text, /hush/)
  t.notMatch(JSON.stringify(await row(store, 'a')), /hush/, 'not in the store either')
  t.same(environmentOf(await row(store, 'a'), sealer), { PLAIN: 'seen', TOKEN: 'hush-env' })

  await deployed(store, 'a')
  poked.length = 0
  const secretsOf = (record: Resource) => policyOf(storedSandbox(record).network, sealer).routing[0]?.secrets
  const again = await call('PUT', '/sandboxes/a', made.body)
  t.match(again, { status: 200, body: { status: 'DEPLOYED' } }, 'nothing changed, so nothing is deployed anew')
  t.same(again.body.spec, made.body.spec)
  t.same(environmentOf(await row(store, 'a'), sealer), { PLAIN: 'seen', TOKEN: 'hush-env' })
  t.same(secretsOf(await row(store, 'a')), { k: 'hush-proxy' })
  const masked = { proxy: { routing: [{ destinations: ['a.com'], secrets: { k: '***', other: 'hush-too' } }] } }
  await call('PUT', '/sandboxes/a', { spec: { network: masked } })
  t.same(secretsOf(await row(store, 'a')), { k: 'hush-proxy', other: 'hush-too' })
  t.match((await call('GET', '/sandboxes/a?show_secrets=true')).body.spec.runtime.envs[1], { value: 'hush-env' })

  const rule = (header: string, secrets?: object) => ({ destinations: ['a.com'], headers: { [header]: 'x' }, secrets })
  const several = (...routing: object[]) => call('PUT', '/sandboxes/a', { spec: { network: { proxy: { routing } } } })
  const each = async () =>
    policyOf(storedSandbox(await row(store, 'a')).network, sealer).routing.map(one => one.secrets['k'])
  await several(rule('A', { k: '1' }), rule('B', { k: '2' }), rule('C', { k: '3' }))
  const before = await row(store, 'a')
  const got = (await call('GET', '/sandboxes/a')).body
  await call('PUT', '/sandboxes/a', { ...got, metadata: { ...got.metadata, labels: { seen: 'yes' } } })
  t.same(storedSandbox(await row(store, 'a')), storedSandbox(before), 'a label that is changed changes nothing else')
  await several(rule('changed'), rule('C'), rule('A'))
  t.same(await each(), ['2', '3', '1'], 'rules of the same destinations keep each its own')
  const elsewhere = { ...made.body.spec, network: { proxy: { routing: [{ destinations: ['evil.com'] }] } } }
  await call('PUT', '/sandboxes/a', { spec: elsewhere })
  t.equal(secretsOf(await row(store, 'a'))?.['k'], undefined, 'a secret does not follow to other places')
})

t.test('an update keeps what is absent, clears what is cleared, and network is cleared by its absence', async t => {
  const { call, store } = await control(t)
  const spec = {
    runtime: {
      ttl: '1h',
      expires: '2030-01-01T00:00:00Z',
      envs: [{ name: 'A', value: 'b' }],
      ports: [{ target: 3000 }],
      extraArgs: { tun: 'disabled' },
    },
    lifecycle: { expirationPolicies: [{ type: 'ttl-idle', value: '2h', action: 'delete' }] },
    network: { allowedDomains: ['a.com'] },
  }
  const metadata = { name: 'a', displayName: 'A', externalId: 'x-1', labels: { k: 'v' } }
  const made = (await call('POST', '/sandboxes', { metadata, spec })).body
  await deployed(store, 'a')
  const put = async (body: unknown) => (await call('PUT', '/sandboxes/a', body)).body

  t.same((await put({ metadata: { name: 'a' } })).spec, made.spec, 'no spec: all of it stays')
  t.match(await put({ metadata: { name: 'a', labels: {} } }), { metadata: { displayName: 'A', externalId: 'x-1' } })
  t.equal(Object.hasOwn((await put({})).metadata, 'labels'), false)
  t.equal((await put({ metadata: { externalId: 'x-2', displayName: '' } })).metadata.externalId, 'x-2')
  t.equal(Object.hasOwn((await put({})).metadata, 'displayName'), false)

  const onlyNetwork = await put({ metadata: { name: 'a' }, spec: { network: { forbiddenDomains: ['b.com'] } } })
  t.same(onlyNetwork.spec.network, { forbiddenDomains: ['b.com'] }, 'the network given replaces the one there was')
  t.same(onlyNetwork.spec.runtime, made.spec.runtime)
  t.equal(Object.hasOwn((await put({ spec: {} })).spec, 'network'), false)

  t.equal((await put({ spec: { runtime: {} } })).spec.runtime.ttl, '1h')
  t.equal(Object.hasOwn((await put({ spec: { runtime: { ttl: '' } } })).spec.runtime, 'ttl'), false)
  await put({ spec: { runtime: { ttl: '5m' } } })
  t.equal(Object.hasOwn((await put({ spec: { runtime: { ttl: null } } })).spec.runtime, 'ttl'), false)
  t.equal(Object.hasOwn((await put({ spec: { runtime: { expires: null } } })).spec.runtime, 'expires'), false)
  t.equal(Object.hasOwn((await put({ spec: { lifecycle: null } })).spec, 'lifecycle'), false)
  t.same((await put({ spec: { runtime: { extraArgs: { iptables: 'enabled' } } } })).spec.runtime.extraArgs, {
    tun: 'disabled',
  })
  t.equal(Object.hasOwn((await put({ spec: { runtime: { ports: [] } } })).spec.runtime, 'ports'), false)
  const after = await put({})
  t.equal(after.status, 'DEPLOYED', 'none of this restarts it')
  t.equal(after.events.length, 1, 'or adds an event')
})

t.test('image, memory and environment replace the machine', async t => {
  const { call, store, clock, poked } = await control(t)
  await call('POST', '/sandboxes', { metadata: { name: 'a' } })
  const changes = [{ image: 'svc/other:latest' }, { memory: 512 }, { envs: [{ name: 'A', value: 'b' }] }]
  for (const [at, runtime] of changes.entries()) {
    await deployed(store, 'a', { id: `i-${at}`, revision: String(at), memoryMb: 512 }, clock.now())
    poked.length = 0
    const { body } = await call('PUT', '/sandboxes/a', { spec: { runtime } })
    t.match(body, { status: 'DEPLOYING', spec: { runtime } })
    t.equal(body.events.length, at + 2)
    t.match(await store.instances.get(`i-${at}`), { status: 'stopping' }, 'in the same transaction')
    t.match(await store.meter.intervals(`i-${at}`), [{ to: clock.now() }], 'and it costs nothing any more')
    t.equal(poked.length, 1)
  }
})

t.test('disabled and enabled', async t => {
  const { call, store } = await control(t)
  t.match((await call('POST', '/sandboxes', { metadata: { name: 'off' }, spec: { enabled: false } })).body, {
    status: 'DEACTIVATED',
  })
  t.match((await call('PUT', '/sandboxes/off', { spec: { enabled: true } })).body, { status: 'DEPLOYING' })
  await deployed(store, 'off')
  t.match((await call('PUT', '/sandboxes/off', { spec: { enabled: false } })).body, { status: 'DEACTIVATING' })
})

t.test('state, last use and errors are shown; state only while deployed', async t => {
  const { call, store, clock } = await control(t)
  await call('POST', '/sandboxes', { metadata: { name: 'a' } })
  t.equal(Object.hasOwn((await call('GET', '/sandboxes/a')).body, 'state'), false)
  const errors = [{ code: 'MACHINE_LOST', message: 'm', time: '2026-01-01T00:00:00.000Z', fatal: false }]
  await deployed(store, 'a', { status: 'standby', lastUsedAt: clock.now(), errors })
  const shown = { state: 'STANDBY', lastUsedAt: '2026-01-01T00:00:00.000Z', errors }
  t.match((await call('GET', '/sandboxes/a')).body, shown)
  t.match((await call('GET', '/sandboxes')).body.data, [shown])
})

t.test('time ends a sandbox on read, whether or not the loop has got there', async t => {
  const { call, clock, poked } = await control(t)
  await call('POST', '/sandboxes', { metadata: { name: 'a', externalId: 'e' }, spec: { runtime: { ttl: '1s' } } })
  await clock.tick(400)
  t.match((await call('GET', '/sandboxes/a')).body, { status: 'DEPLOYING', expiresIn: 1 })
  await clock.tick(600)
  poked.length = 0
  t.match((await call('GET', '/sandboxes/a')).body, { status: 'TERMINATED', expiresIn: 0 })
  t.equal(poked.length, 1, 'and the reconciler is told')
  t.same((await call('GET', '/sandboxes')).body.data, [])
  t.match((await call('GET', '/sandboxes?showTerminated=true')).body.data, [{ status: 'TERMINATED' }])
  t.equal((await call('GET', '/sandboxes/by-external-id/e')).status, 404)
  t.equal((await call('PUT', '/sandboxes/a', {})).status, 409)
  t.match((await call('POST', '/sandboxes', { metadata: { name: 'a' } })).body, { status: 'DEPLOYING' })
})

t.test('deleting answers the sandbox and may be repeated', async t => {
  const { call, store, poked } = await control(t)
  await call('POST', '/sandboxes', { metadata: { name: 'a' } })
  poked.length = 0
  t.match(await call('DELETE', '/sandboxes/a'), { status: 200, body: { status: 'DELETING' } })
  const again = await call('DELETE', '/sandboxes/a')
  t.match(again, { status: 200, body: { status: 'DELETING' } })
  t.equal(again.body.events.length, 2, 'one event for both')
  t.equal(poked.length, 2)
  t.match(await call('PUT', '/sandboxes/a', {}), { status: 409, body: { message: /DELETING/ } })
  t.match(await call('POST', '/sandboxes', { metadata: { name: 'a' } }), { status: 409 })
  const found = await row(store, 'a')
  await become(store, found.uid, { status: 'TERMINATED' })
  t.match(await call('DELETE', '/sandboxes/a'), { status: 200, body: { status: 'TERMINATED' } })
})
