import t from 'tap'
import { openApi, templateOf } from '../../../shared/http/openapi.ts'
import { route } from '../../../shared/route.ts'
import { declaredRoutes } from '../../docs/endpoints.ts'
import { flag, intText, s, toJsonSchema } from '../../../shared/schema.ts'

const told = {
  title: 'T',
  version: '1',
  credential: { headers: ['authorization', 'x-a-authorization'], optional: false },
  texts: { size: ['Bytes', 7, 1], 'parameter.word': ['A word', 'a'] },
  families: { thing: 'Things' },
} as const

const make = route('PUT /thing/:name/*path', {
  id: 'thing.put',
  summary: 'Puts a thing',
  params: s.object({ name: s.string(), path: s.string() }),
  query: s.object({ deep: flag(), limit: intText(1, 9), word: s.string() }),
  body: s.object({ size: s.int() }),
  returns: s.object({ ok: s.boolean() }),
  errors: ['not_found', 'invalid_argument', 'invalid_body'],
})
const upload = route('POST /upload', {
  id: 'thing.upload',
  summary: 'Takes bytes',
  accepts: 'stream',
  produces: ['text/plain'],
  open: true,
})
const live = route('GET /live', { id: 'live', summary: 'A socket', upgrade: true })
const probe = route('HEAD /live', { id: 'probe', summary: 'A probe' })

t.test('a declaration becomes an operation: parameters, body, answers, errors by status', async t => {
  const { paths, openapi, components, tags, info } = openApi([make], told)
  t.equal(openapi, '3.1.0')
  const put = paths['/thing/{name}/{path}']?.['put']
  t.match(put, { operationId: 'thing.put', summary: 'Puts a thing', tags: ['thing'] })
  t.same(
    put?.parameters.map(({ name, in: where, required }) => [name, where, required]),
    [
      ['name', 'path', true],
      ['path', 'path', true],
      ['deep', 'query', false],
      ['limit', 'query', false],
      ['word', 'query', true],
    ],
  )
  t.match(put?.requestBody, {
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/ThingPutRequest' } } },
  })
  t.match(components.schemas['ThingPutRequest'], { type: 'object', required: ['size'] })
  t.same(
    components.schemas['ThingPutRequest']?.['properties'],
    { size: { type: 'integer', description: 'Bytes', examples: [7], default: 1 } },
    'a text, an example and a default, and no bounds that mean nothing',
  )
  t.match(put?.parameters.at(-1), { description: 'A word', schema: { examples: ['a'] } })
  t.same(tags, [{ name: 'thing', description: 'Things' }])
  t.ok(info['license'])
  t.same(Object.keys(put?.responses ?? {}), ['200', '400', '404', '413', '415', '500'])
  t.equal(put?.responses['400']?.description, 'invalid_body, invalid_argument')
  t.match(components.schemas['ThingPutResponse'], { properties: { ok: { type: 'boolean' } } })
})

t.test('streams, sockets and probes are what they are', async t => {
  const { paths } = openApi([upload, live, probe], told)
  t.same(Object.keys(paths['/upload']?.['post']?.requestBody?.content ?? {}), ['application/octet-stream'])
  t.ok(paths['/upload']?.['post']?.responses['200']?.content?.['text/plain'])
  t.ok(paths['/live']?.['get']?.responses['101'])
  t.notOk(paths['/live']?.['head'])
})

t.test('a bearer token is asked for except where a route is open', async t => {
  const document = openApi([make, upload], { ...told, servers: ['https://x/y'] })
  t.same(document.security, [{ bearer: [] }, { 'x-a-authorization': [] }])
  t.match(document.components.securitySchemes, {
    bearer: { type: 'http', scheme: 'bearer' },
    'x-a-authorization': { type: 'apiKey', in: 'header', name: 'x-a-authorization' },
  })
  t.same(document.paths['/upload']?.['post']?.security, [])
  t.notOk(document.paths['/thing/{name}/{path}']?.['put']?.security)
  t.same(document.servers, [{ url: 'https://x/y' }])
  t.equal(templateOf('/a/:b/*c'), '/a/{b}/{c}')
})

t.test('what one answer leads to is a link, and every link leads to a route', async t => {
  const routes = (await declaredRoutes()).filter(({ family }) => family !== 'billing')
  const document = openApi(routes, told)
  const ids = new Map(routes.map(route => [route.id, route]))
  let links = 0
  for (const route of routes)
    for (const [id, given] of Object.entries(route.leadsTo)) {
      links++
      const target = ids.get(id)
      t.ok(target, `${route.id} leads to ${id}`)
      for (const [name, field] of Object.entries(given)) {
        t.match(target?.path, new RegExp(`[:*]${name}\\b`), `${id} takes ${name}`)
        t.hasProp(toJsonSchema(route.returns, 'output')['properties'] as object, field)
      }
    }
  t.ok(links > 5)
  t.match(document.paths['/process']?.['post']?.responses['200']?.links, {
    'process.get': { operationId: 'process.get', parameters: { identifier: '$response.body#/name' } },
  })
})
