/** Where policies let something be deployed: any within a type, all across types. */
import t from 'tap'
import { control } from '../../../support/control.ts'

t.test('location and flavour policies bind agents, functions, applications and sandboxes', async t => {
  const { call } = await control(t)
  const policy = (name: string, spec: object) => call('POST', '/policies', { metadata: { name }, spec })
  const continent = (name: string) => ({ type: 'location', locations: [{ name, type: 'continent' }] })
  await policy('eu', continent('eu'))
  await policy('na', continent('na'))
  await policy('fr', { type: 'location', locations: [{ name: 'fr', type: 'country' }] })
  await policy('here', { type: 'location', locations: [{ name: 'local' }] })
  await policy('x86', { type: 'flavor', flavors: [{ name: 'x86', type: 'cpu' }] })
  await policy('gpu', { type: 'flavor', flavors: [{ type: 'gpu' }] })
  await policy('models-only', { ...continent('na'), resourceTypes: ['model'] })
  let count = 0
  const deploy = async (collection: string, policies: string[], more: object = {}) => {
    const image = 'svc/base-image:latest'
    const compute = collection === 'applications' ? { image } : { runtime: { image } }
    const body = { metadata: { name: `w${++count}` }, spec: { ...compute, policies, ...more } }
    return call('POST', `/${collection}`, body)
  }
  for (const collection of ['agents', 'functions', 'applications', 'sandboxes']) {
    t.equal((await deploy(collection, ['eu', 'x86'])).status, 200, collection)
    t.equal((await deploy(collection, ['na', 'eu'])).status, 200, 'any within a type')
    t.match(await deploy(collection, ['na', 'fr']), {
      status: 403,
      body: { error: /^policy_violation$/i, message: /the location of this host.*"na", "fr"/ },
    })
    t.match(
      await deploy(collection, ['eu', 'gpu']),
      { status: 403, body: { message: /the flavor of this host/ } },
      'all across types',
    )
    t.equal((await deploy(collection, ['models-only'])).status, 200, 'for other kinds')
    t.equal((await deploy(collection, ['here'])).status, 200)
    t.equal((await deploy(collection, ['here'], { region: 'eu-fra-1' })).status, 403, 'in another region')
    t.equal((await deploy(collection, ['none'])).status, 400, 'one that is not there')
  }
  const { body } = await deploy('agents', ['eu'])
  const { name } = body.metadata
  await call('PUT', '/policies/eu', { spec: continent('sa') })
  t.equal((await call('PUT', `/agents/${name}`, { metadata: { labels: { a: 'b' } } })).status, 200, 'not deployed anew')
  t.equal((await call('PUT', `/agents/${name}`, { spec: { policies: ['eu'], runtime: { image: 'i:2' } } })).status, 403)
})
