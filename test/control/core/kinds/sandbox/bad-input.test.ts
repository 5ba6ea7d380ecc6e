/** Everything that should not be accepted: the right status, the field in the message, and nothing half-made. */
import t from 'tap'
import { control, knownImages } from '../../../../support/control.ts'

const named = (spec: unknown) => ({ metadata: { name: 'a' }, spec })
const runtime = (value: unknown) => named({ runtime: value })
const network = (value: unknown) => named({ network: value })

/** `[what, body, words of the message]`: each is 400 on create and names its field. */
const bodies: readonly [string, unknown, RegExp][] = [
  ['an array', [], /body/],
  ['text', '"x"', /body/],
  ['not JSON', '{"metadata":', /not JSON/],
  ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /not UTF-8/],
  ['no body', undefined, /body/],
  ['null', 'null', /body/],
  ['metadata of a wrong type', { metadata: 'a' }, /metadata: must be an object/],
  ['an upper-case name', { metadata: { name: 'Abc' } }, /metadata.name: must be lowercase/],
  ['a dotted name', { metadata: { name: '..' } }, /metadata.name/],
  ['a path for a name', { metadata: { name: '../etc' } }, /metadata.name/],
  ['a name with NUL', { metadata: { name: 'a\0b' } }, /metadata.name: must not contain NUL/],
  ['a name with a newline', { metadata: { name: 'a\n' } }, /metadata.name/],
  ['a name of 50 characters', { metadata: { name: 'a'.repeat(50) } }, /metadata.name: must be at most 49/],
  ['a name that ends in a hyphen', { metadata: { name: 'a-' } }, /metadata.name/],
  ['a name of a wrong type', { metadata: { name: 1 } }, /metadata.name: must be a string/],
  ['a long display name', { metadata: { displayName: 'x'.repeat(64) } }, /metadata.displayName: must be at most 63/],
  ['a long external id', { metadata: { externalId: 'x'.repeat(65) } }, /metadata.externalId/],
  ['an external id with a slash', { metadata: { externalId: 'a/b' } }, /metadata.externalId: must contain only/],
  ['labels of a wrong type', { metadata: { labels: ['a'] } }, /metadata.labels: must be an object/],
  ['a label of a wrong type', { metadata: { labels: { a: 1 } } }, /metadata.labels.a: must be a string/],
  ['a label with NUL', { metadata: { labels: { a: '\0' } } }, /metadata.labels.a: must not contain NUL/],
  ['half a character in a label', { metadata: { labels: { a: '\ud83d' } } }, /metadata.labels.a: must be Unicode/],
  [
    'half a character in the name of a label',
    { metadata: { labels: { '\udfff': 'a' } } },
    /metadata.labels.*: has a key/,
  ],
  [
    'half a character in a variable',
    runtime({ envs: [{ name: 'A', value: 'a\ud800' }] }),
    /envs.0.value: must be Unicode/,
  ],
  ['a spec of a wrong type', named('x'), /spec: must be an object/],
  ['memory as text', runtime({ memory: '4096' }), /spec.runtime.memory: must be a number/],
  ['memory below the least', runtime({ memory: 1 }), /spec.runtime.memory: must be at least 64/],
  ['memory beyond the most', runtime({ memory: 1e9 }), /spec.runtime.memory: must be at most/],
  ['half a megabyte', runtime({ memory: 128.5 }), /spec.runtime.memory: must be an integer/],
  ['a port out of range', runtime({ ports: [{ target: 70_000 }] }), /spec.runtime.ports.0.target/],
  ['reserved port 443', runtime({ ports: [{ target: 3000 }, { target: 443 }] }), /ports.1.target: .*reserved/],
  ['reserved port 80', runtime({ ports: [{ target: 80 }] }), /ports.0.target: .*reserved/],
  ['an unknown protocol', runtime({ ports: [{ target: 1, protocol: 'SCTP' }] }), /ports.0.protocol: must be one of/],
  ['a bad variable name', runtime({ envs: [{ name: 'A=B', value: '' }] }), /envs.0.name: a variable name must not/],
  ['an empty variable name', runtime({ envs: [{ name: '', value: '' }] }), /envs.0.name: a variable name must not/],
  [
    'a variable that no process can take',
    runtime({ envs: [{ name: 'A', value: 'x'.repeat(131_070) }] }),
    /spec.runtime.envs.0.value: a variable may take 131072 bytes with its name, and this one takes 131073/,
  ],
  [
    'one that is longer in bytes than in characters',
    runtime({ envs: [{ name: 'A', value: 'é'.repeat(70_000) }] }),
    /spec.runtime.envs.0.value: a variable may take/,
  ],
  [
    'variables that no process can take together',
    runtime({ envs: Array.from({ length: 40 }, (_, at) => ({ name: `A${at}`, value: 'x'.repeat(100_000) })) }),
    /spec.runtime.envs: all variables together may take 1048576 bytes, and these take 400/,
  ],
  ['a variable with NUL', runtime({ envs: [{ name: 'A', value: '\0' }] }), /envs.0.value: must not contain NUL/],
  ['a mask without a secret', runtime({ envs: [{ name: 'A', value: '***', secret: true }] }), /envs.0.value/],
  ['a ttl without a unit', runtime({ ttl: '10' }), /spec.runtime.ttl: must be an integer followed by/],
  ['a ttl of two units', runtime({ ttl: '1h30m' }), /spec.runtime.ttl/],
  ['an expiry that is no time', runtime({ expires: 'tomorrow' }), /spec.runtime.expires: must be an ISO 8601/],
  [
    'an expiry on a day that is none',
    runtime({ expires: '2027-02-30T00:00:00Z' }),
    /spec.runtime.expires: must be an ISO/,
  ],
  ['an unknown extra argument', runtime({ extraArgs: { gpu: 'enabled' } }), /spec.runtime.extraArgs/],
  ['an odd extra argument', runtime({ extraArgs: { tun: 'yes' } }), /spec.runtime.extraArgs.tun: must be one of/],
  ['a negative grace period', runtime({ terminationGracePeriodSeconds: -1 }), /terminationGracePeriodSeconds/],
  ['an unknown image', runtime({ image: 'nowhere/none' }), /image "nowhere\/none" is not known/],
  ['an unknown region', named({ region: 'mars' }), /spec.region: /],
  ['an unknown vpc', named({ vpc: 'mine' }), /spec.vpc: (vpc "mine" not found|cannot be changed)/],
  [
    'a volume there is not',
    named({ volumes: [{ name: 'v', mountPath: '/v' }] }),
    /spec.volumes(.0.name: volume "v" not found|: cannot be changed)/,
  ],
  ['a relative mount path', named({ volumes: [{ name: 'v', mountPath: 'v' }] }), /spec.volumes.0.mountPath/],
  ['a policy of no type', named({ lifecycle: { expirationPolicies: [{ value: '1h' }] } }), /expirationPolicies.0.type/],
  [
    'a policy value that does not fit its type',
    named({ lifecycle: { expirationPolicies: [{ type: 'date', value: '1h', action: 'delete' }] } }),
    /expirationPolicies.0.value: must be an ISO 8601/,
  ],
  [
    'a standby of no time',
    named({ lifecycle: { standby: { after: 'soon' } } }),
    /spec.lifecycle.standby.after: must be "never"/,
  ],
  ['a standby beyond a day', named({ lifecycle: { standby: { after: '2d' } } }), /spec.lifecycle.standby.after/],
  ['a standby at once', named({ lifecycle: { standby: { after: '0s' } } }), /spec.lifecycle.standby.after/],
  ['a standby as a number', named({ lifecycle: { standby: { after: 15 } } }), /standby.after: must be a string/],
  ['a standby that is no object', named({ lifecycle: { standby: 'never' } }), /lifecycle.standby: must be an object/],
  ['awareness of neither', named({ lifecycle: { standby: { cpuAware: 1 } } }), /standby.cpuAware: must be a boolean/],
  ['an odd retention', named({ lifecycle: { terminatedRetention: 'long' } }), /lifecycle.terminatedRetention/],
  ['text that holds no list', network({ allowedDomains: 'a.com' }), /spec.network.allowedDomains: must be an array/],
  ['text that holds a map for a list', network({ allowedDomains: '{}' }), /spec.network.allowedDomains/],
  ['a list that holds a number', network({ allowedDomains: '["a", 1]' }), /allowedDomains.1: must be a string/],
  ['an unknown ruleset', network({ firewall: { rulesets: '["x"]' } }), /firewall.rulesets.0: must be one of/],
  [
    'an unknown gateway',
    network({ egress: { gateway: 'g' } }),
    /egress.gateway: (egress gateway "g" not found|is bound when)/,
  ],
  ['a routing rule of a wrong type', network({ proxy: { routing: ['x'] } }), /proxy.routing.0: must be an object/],
  ['a rule for nowhere', network({ proxy: { routing: [{ headers: {} }] } }), /routing.0.destinations: must name at/],
  [
    "a header that is the proxy's own",
    network({ proxy: { routing: [{ destinations: ['a.com'] }, { destinations: ['*'], headers: { Host: 'x' } }] } }),
    /spec.network.proxy.routing.1.headers.Host: is set by the proxy itself/,
  ],
  ['a mode nobody knows', network({ proxy: { mode: 'off' } }), /spec.network.proxy.mode: must be one of/],
  ['a dedicated address', network({ egress: { mode: 'dedicated' } }), /spec.network.egress.gateway: is missing/],
  [
    'the same by ruleset',
    network({ firewall: { rulesets: ['dedicated-ip'] } }),
    /network.firewall.rulesets: dedicated-ip needs/,
  ],
  ['a secret of a wrong type', network({ proxy: { routing: [{ secrets: { k: 1 } }] } }), /routing.0.secrets.k/],
]

t.test('what is wrong in a body is named, and nothing is made', async t => {
  const { call, store, poked } = await control(t)
  for (const [what, body, words] of bodies) {
    const { status, body: answer } = await call('POST', '/sandboxes', body)
    t.equal(status, 400, what)
    t.match(answer, { code: 400, status_code: 400, error: String, message: words }, what)
  }
  t.equal(await store.resources.count('sandbox', 'default'), 0, 'nothing was made')
  t.same(poked, [], 'nothing was started')
})

t.test('what is wrong in an update is named, and nothing is changed', async t => {
  const { call, poked } = await control(t)
  const before = (await call('POST', '/sandboxes', { metadata: { name: 'a' } })).body
  poked.length = 0
  const different = bodies.filter(([, body]) => (body as { metadata?: { name?: unknown } })?.metadata?.name === 'a')
  t.ok(different.length > 30)
  for (const [what, body, words] of different)
    t.match(await call('PUT', '/sandboxes/a', body), { status: 400, body: { message: words } }, what)
  t.match(await call('PUT', '/sandboxes/a', { metadata: { name: 'b' } }), {
    status: 400,
    body: { message: /metadata.name: cannot be changed/ },
  })
  t.match(await call('PUT', '/sandboxes/a', { spec: { region: 'eu-fra-1' } }), {
    status: 400,
    body: { message: /spec.region: cannot be changed/ },
  })
  t.same((await call('GET', '/sandboxes/a')).body, before)
  t.same(poked, [])
})

t.test('an unknown image is refused with the ones there are', async t => {
  const { call } = await control(t)
  t.match((await call('POST', '/sandboxes', runtime({ image: 'x' }))).body, {
    error: 'INVALID_IMAGE',
    code: 400,
    details: { requested_image: 'x', supported_images: knownImages },
  })
})

t.test('odd names in a path are 404', async t => {
  const { call } = await control(t)
  for (const name of ['none', '..', '%2e%2e%2fa', 'a%00b', '%F0%9F%98%80', 'A'.repeat(5000)])
    for (const method of ['GET', 'PUT', 'DELETE'])
      t.match(
        await call(method, `/sandboxes/${name}`, method === 'PUT' ? {} : undefined),
        { status: 404, body: { code: 404 } },
        `${method} ${name.slice(0, 20)}`,
      )
  t.match(await call('GET', '/sandboxes/by-external-id/none'), { status: 404, body: { code: 404 } })
})

t.test('odd queries are 400 and name the parameter', async t => {
  const { call } = await control(t)
  const queries: readonly [string, RegExp][] = [
    ['limit=0', /limit/],
    ['limit=-1', /limit/],
    ['limit=x', /limit: must be an integer/],
    ['limit=99999999999999999999', /limit/],
    ['sort=size', /sort: must be one of/],
    ['status=SLEEPING', /status: "SLEEPING" is none of/],
    [`q=${'x'.repeat(201)}`, /q: must be at most 200/],
    ['anchor=start', /anchor/],
    ['anchor=end&sort=name:asc', /anchor/],
    ['anchor=end&cursor=x', /anchor/],
    ['cursor=x', /cursor/],
    ['cursor=%00', /cursor/],
    [`cursor=${'x'.repeat(5000)}`, /cursor/],
  ]
  for (const [query, words] of queries)
    t.match(await call('GET', `/sandboxes?${query}`), { status: 400, body: { code: 400, message: words } }, query)
})

t.test('members nobody knows are ignored, and names from Object.prototype are plain labels', async t => {
  const { call } = await control(t)
  const body =
    '{"apiVersion":"svc/v1","kind":"Sandbox","metadata":{"name":"a","plan":"gold","labels":{"constructor":"x"}},' +
    '"spec":{"runtime":{"generation":"mk3","storageMb":1},"snapshotEnabled":true},"status":"DEPLOYED"}'
  const { status, body: made, headers } = await call('POST', '/sandboxes', body)
  t.equal(headers['x-svc-warnings'], undefined, 'every client of the contract sends these')
  t.equal(status, 200)
  t.match(made, { metadata: { labels: { constructor: 'x' }, plan: 'test' }, status: 'DEPLOYING' })
  t.equal(Object.hasOwn(made.spec.runtime, 'generation'), false)
})

t.test('a host that does not enforce rules for outbound traffic refuses them', async t => {
  const { call } = await control(t, { egressRules: false })
  const make = (network: object) => call('POST', '/sandboxes', { metadata: { name: 'a' }, spec: { network } })
  for (const [field, network] of [
    ['allowedDomains', { allowedDomains: ['a.example'] }],
    ['forbiddenDomains', { forbiddenDomains: '["a.example"]' }],
    ['proxy.allowedDomains', { proxy: { allowedDomains: ['a.example'] } }],
    ['proxy.routing', { proxy: { routing: [{ destinations: ['*'], headers: { a: 'b' } }] } }],
    ['firewall.rulesets', { firewall: { rulesets: ['proxy'] } }],
    ['proxy', { proxy: {} }],
    ['proxy', { proxy: { bypass: ['a.example'] } }],
  ] as const)
    t.match(await make(network), {
      status: 400,
      body: {
        message: `spec.network.${field}: rules for outbound traffic cannot be enforced on this box (make doctor says why); leave them out`,
      },
    })
  t.equal((await make({ firewall: { rulesets: ['default'] } })).status, 200, 'no rule, nothing to refuse')
})

t.test('a tunnel in the environment needs a peer that the policy lets it reach', async t => {
  const { call } = await control(t)
  const document = (peer: string) => Buffer.from(JSON.stringify({ peer_endpoint: peer })).toString('base64')
  const spec = (peer: string, allowedDomains: string[] | undefined, more: object = {}) => ({
    runtime: { envs: [{ name: 'SVC_NETWORKING_CONFIG', value: document(peer), ...more }] },
    ...(allowedDomains ? { network: { allowedDomains } } : {}),
  })
  const make = (name: string, ...of: Parameters<typeof spec>) =>
    call('POST', '/sandboxes', { metadata: { name }, spec: spec(...of) })
  const place = '192.0.2.10:51820'
  for (const [peer, allowed, more] of [
    [place, ['a.example'], {}],
    [place, ['*', '192.0.2.10:51821'], { secret: true }],
    ['vpn.example:51820', ['vpn.example'], {}],
    ['192.0.2.10:443', ['192.0.2.10'], {}],
  ] as const)
    t.match(await make('no', peer, [...allowed], more), {
      status: 400,
      body: {
        message: `spec.runtime.envs: SVC_NETWORKING_CONFIG has a tunnel to ${peer}, which "${peer}" in spec.network.allowedDomains would allow`,
      },
    })
  for (const [name, ...of] of [
    ['free', place, undefined],
    ['by-address', place, ['192.0.2.10']],
    ['by-port', place, [place], { secret: true }],
  ] as const) {
    const [peer, allowed, more] = of as Parameters<typeof spec>
    t.equal((await make(name, peer, allowed, more)).status, 200, name)
  }
  t.equal(
    (await call('PUT', '/sandboxes/by-port', { spec: { network: { allowedDomains: ['a.example'] } } })).status,
    400,
  )
})
