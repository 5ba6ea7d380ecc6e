/** VPC → egress gateway → egress IP, and volume templates. */
import t from 'tap'
import { control } from '../../../support/control.ts'

t.test('the default VPC is always there, without having been made', async t => {
  const { call, store, addWorkspace } = await control(t)
  t.match(await call('GET', '/vpcs/default'), {
    status: 200,
    body: { metadata: { name: 'default' }, status: 'DEPLOYED' },
  })
  t.match((await call('GET', '/vpcs')).body, [{ metadata: { name: 'default' } }])
  t.equal((await call('POST', '/vpcs', { metadata: { name: 'default' } })).status, 409)
  t.match(await call('DELETE', '/vpcs/default'), { status: 409, body: { message: /always there/ } })
  t.equal(await store.resources.count('vpc', 'default'), 0)
  const gateway = { metadata: { name: 'office' }, spec: { region: 'local' } }
  t.equal((await call('POST', '/vpcs/default/egressgateways', gateway)).status, 200)
  t.equal((await call('POST', '/vpcs/none/egressgateways', gateway)).status, 404)
  await addWorkspace('team')
  t.same((await call('GET', '/vpcs/default/egressgateways?workspace=team')).body, [])
})

t.test('names are of their VPC and gateway; listings go across all of them', async t => {
  const { call } = await control(t)
  await call('POST', '/vpcs', { metadata: { name: 'lab' } })
  for (const vpc of ['default', 'lab']) {
    const path = `/vpcs/${vpc}/egressgateways`
    t.equal((await call('POST', path, { metadata: { name: 'out' }, spec: { region: 'local' } })).status, 200)
    t.equal((await call('POST', `${path}/out/ips`, { metadata: { name: 'one' } })).status, 200)
  }
  t.match((await call('GET', '/vpcs/lab/egressgateways/out/ips/one')).body, {
    metadata: { name: 'one', vpcName: 'lab', gatewayName: 'out' },
    spec: { ipFamily: 'IPv4' },
    status: 'FAILED',
    events: [{ message: 'this host has no addresses for egress gateways (HUTCH_EGRESS_ADDRESSES)' }],
  })
  const names = (body: { metadata: { vpcName: string } }[]) => body.map(({ metadata }) => metadata.vpcName).toSorted()
  t.same(names((await call('GET', '/egressgateways')).body), ['default', 'lab'])
  t.same(names((await call('GET', '/egressips')).body), ['default', 'lab'])
  t.same(names((await call('GET', '/vpcs/lab/egressgateways')).body), ['lab'])
  t.same((await call('GET', '/egressgateways/usage')).body, { out: [] })
  t.match(await call('POST', '/vpcs/lab/egressgateways', { metadata: { name: 'x' } }), {
    status: 400,
    body: { message: /^spec.region: is missing/ },
  })
  t.match(await call('POST', '/vpcs/lab/egressgateways', { metadata: { name: 'x' }, spec: { region: 'far' } }), {
    status: 400,
    body: { message: /^spec.region: "far" is none of local, eu-fra-1/ },
  })
  t.equal((await call('PUT', '/vpcs/lab', {})).status, 405)
})

const addresses = ['203.0.113.1', '203.0.113.2']

t.test('an address is given to one at a time, in whatever workspace', async t => {
  const { call, addWorkspace } = await control(t, { egressAddresses: addresses })
  await addWorkspace('team')
  const gateway = { metadata: { name: 'out' }, spec: { region: 'local' } }
  const path = '/vpcs/default/egressgateways'
  const add = (workspace: string, name: string) =>
    call('POST', `${path}/out/ips?workspace=${workspace}`, { metadata: { name } })
  for (const workspace of ['default', 'team'])
    t.match(await call('POST', `${path}?workspace=${workspace}`, gateway), { body: { status: 'DEPLOYED' } })
  const made = await Promise.all([add('default', 'a'), add('team', 'a'), add('team', 'b')])
  const given = made.map(({ body }) => [body.status, body.spec.publicIp])
  t.same(given.map(([status]) => status).toSorted(), ['DEPLOYED', 'DEPLOYED', 'FAILED'])
  t.same(given.flatMap(([, address]) => address ?? []).toSorted(), addresses)
  t.equal((await add('team', 'later')).body.status, 'FAILED', 'nor what was given before')
  t.match((await call('GET', '/configuration')).body.regions, [{ egressAvailable: true }, { egressAvailable: true }])
})

t.test('a sandbox is bound when it is made, in the default VPC and the region of the gateway', async t => {
  const { call } = await control(t, { egressAddresses: addresses })
  await call('POST', '/vpcs', { metadata: { name: 'lab' } })
  for (const vpc of ['default', 'lab'])
    await call('POST', `/vpcs/${vpc}/egressgateways`, { metadata: { name: `of-${vpc}` }, spec: { region: 'local' } })
  await call('POST', '/vpcs/default/egressgateways/of-default/ips', { metadata: { name: 'one' } })
  const create = (name: string, gateway: string, more: object = {}) =>
    call('POST', '/sandboxes', { metadata: { name }, spec: { network: { egress: { gateway } }, ...more } })
  const refused = async (answer: ReturnType<typeof create>, message: RegExp) =>
    t.match(await answer, { status: 400, body: { message } })
  await refused(create('x', 'of-lab'), /"of-lab" not found in VPC "default"/)
  await refused(create('x', 'of-default', { region: 'eu-fra-1' }), /is in region "local", the sandbox is in "eu-fra-1"/)
  await refused(create('x', 'of-default', { vpc: 'lab' }), /is for VPC "default"; the sandbox is in "lab"/)
  t.equal((await create('web', 'of-default')).status, 200)
  t.same((await call('GET', '/egressgateways/usage')).body, { 'of-default': ['web'], 'of-lab': [] })
  const put = (network: object | undefined) => call('PUT', '/sandboxes/web', { spec: { network } })
  t.match((await put(undefined)).body.spec, { network: { egress: { gateway: 'of-default' } } })
  await refused(put({ egress: { gateway: 'of-lab' } }), /is bound when a sandbox is created, not later/)
  for (const path of ['of-default', 'of-default/ips/one'])
    t.match(await call('DELETE', `/vpcs/default/egressgateways/${path}`), { status: 409, body: { code: 409 } })
})

t.test('one with something inside is kept, one that is empty goes, and nothing beside', async t => {
  const { call, store } = await control(t)
  for (const vpc of ['lab', 'lab-2']) {
    await call('POST', '/vpcs', { metadata: { name: vpc } })
    const path = `/vpcs/${vpc}/egressgateways`
    await call('POST', path, { metadata: { name: 'out' }, spec: { region: 'local' } })
    await call('POST', `${path}/out/ips`, { metadata: { name: 'one' } })
  }
  const kept = async (path: string, message: RegExp) =>
    t.match(await call('DELETE', path), { status: 409, body: { error: 'in_use', code: 409, message } })
  const gateway = '/vpcs/lab/egressgateways/out'
  await kept(
    '/vpcs/lab',
    /^vpc "lab" is in use by (egressGateway "out", egressIp "one"|egressIp "one", egressGateway "out")$/,
  )
  await kept(gateway, /^egressGateway "out" is in use by egressIp "one"$/)
  t.equal((await call('GET', `${gateway}/ips/one`)).status, 200, 'nothing is gone')
  t.equal((await call('DELETE', `${gateway}/ips/one`)).status, 200)
  await kept('/vpcs/lab', /egressGateway "out"$/)
  t.equal((await call('DELETE', gateway)).status, 200)
  t.match(await call('DELETE', '/vpcs/lab'), { status: 200, body: { metadata: { name: 'lab' } } })
  for (const kind of ['vpc', 'egressGateway', 'egressIp'])
    t.equal(await store.resources.count(kind, 'default'), 1, kind)
  t.equal((await call('GET', `${gateway}/ips/one`)).status, 404)
  t.equal((await call('GET', '/vpcs/lab-2/egressgateways/out/ips/one')).status, 200)
})

t.test('a volume template is put: made when it is not there; uploads are refused', async t => {
  const { call, addKey } = await control(t)
  const path = '/volume_templates/data'
  t.match(await call('PUT', path, { metadata: { name: 'data' }, spec: { defaultSize: 5 } }), {
    status: 200,
    body: {
      metadata: { name: 'data' },
      spec: { defaultSize: 5 },
      state: { status: 'created', versionCount: 0 },
      versions: [],
    },
  })
  t.match((await call('PUT', path, { spec: { description: 'x' } })).body.spec, { defaultSize: 5, description: 'x' })
  t.equal((await call('PUT', '/volume_templates/Not', {})).status, 400)
  for (const [method, target] of [
    ['PUT', `${path}?upload=true`],
    ['POST', '/volume_templates?upload=true&version=1'],
  ] as const)
    t.match(await call(method, target, { metadata: { name: 'data' } }), { status: 400, body: { message: /^upload: / } })
  const many = await Promise.all(
    Array.from({ length: 5 }, () => call('PUT', '/volume_templates/many', { spec: { defaultSize: 1 } })),
  )
  t.same([...new Set(many.map(({ status }) => status))], [200], 'of many at once one makes it, the others change it')
  const limited = { headers: { authorization: `Bearer ${await addKey({ scopes: ['volumeTemplates:upsert'] })}` } }
  t.equal((await call('PUT', path, {}, limited)).status, 200)
})
