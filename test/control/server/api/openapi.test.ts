import t from 'tap'
import { control } from '../../../support/control.ts'
import { wrongExamples } from '../../../support/examples.ts'
import { untold } from '../../../support/untold.ts'

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
  t.same(post.requestBody.content['application/json'].schema, { $ref: '#/components/schemas/SandboxInput' })
  const { schemas, securitySchemes } = body.components
  t.match(JSON.stringify(schemas.SandboxSpecInput), /"allowedDomains"/)
  t.match(schemas.SandboxRuntime.properties.memory, {
    minimum: 64,
    description: /MB/,
    default: 4096,
  })
  t.match(schemas.SandboxSpecInput.properties.enabled, { default: true })
  t.hasProps(securitySchemes, ['bearer', 'x-svc-authorization'])
})

t.test('every member, parameter and family says what it is', async t => {
  const { call } = await control(t)
  const { body } = await call('GET', '/openapi.json')
  const undescribed = (list: { name: string; description?: string }[]) =>
    list.filter(({ description }) => !description).map(({ name }) => name)
  t.same(untold(body.components, ''), [], 'a text is a line in control/server/api/texts.ts')
  t.same(untold(body.paths, ''), [])
  const operations = Object.values<Record<string, { parameters: { name: string }[] }>>(body.paths).flatMap(path =>
    Object.values(path),
  )
  t.same(undescribed(operations.flatMap(({ parameters }) => parameters)), [])
  t.same(undescribed(body.tags), [])
})

t.test('every example is what its schema says', async t => {
  const { call } = await control(t)
  const { wrong, count } = wrongExamples((await call('GET', '/openapi.json')).body)
  t.ok(count > 500, `${count} examples`)
  t.same(wrong, [])
})
