import t from 'tap'
import { control } from '../../support/control.ts'

t.test('the document is open, complete, and computed from the routes', async t => {
  const { call, api } = await control(t)
  const { status, body } = await call('GET', '/openapi.json', undefined, { headers: { authorization: '' } })
  t.equal(status, 200)
  t.equal(body.openapi, '3.1.0')
  for (const { route } of api.bounds) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    t.equal(body.paths[path]?.[route.method.toLowerCase()]?.operationId, route.id, route.id)
  }
  const { get, post } = body.paths['/v0/sandboxes']
  t.same(get.parameters.map(({ name }: { name: string }) => name).toSorted(), [
    'anchor',
    'cursor',
    'externalId',
    'limit',
    'q',
    'showTerminated',
    'sort',
    'status',
    'workspace',
  ])
  t.hasProps(post.responses, ['200', '400', '401', '403', '404', '409', '413', '500'])
  const spec = post.requestBody.content['application/json'].schema.properties.spec
  t.match(JSON.stringify(spec), /"allowedDomains"/)
  t.match(JSON.stringify(spec), /"minimum":64/)
})
