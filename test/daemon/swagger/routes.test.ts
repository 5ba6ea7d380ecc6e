import t from 'tap'
import { templateOf } from '../../../shared/http/openapi.ts'
import { mayCall } from '../../../daemon/channel/audience.ts'
import { daemon } from '../../support/daemon.ts'
import { unrefused, wrongExamples } from '../../support/examples.ts'
import { untold } from '../../support/untold.ts'

/** Every `$ref` below `value`. */
const references = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : references(inner),
  )
}

t.test('/swagger leads to a page that needs no other host', async t => {
  const { call } = await daemon(t)
  const root = await call('GET', '/swagger')
  t.equal(root.status, 301)
  t.equal(root.headers['location'], '/swagger/index.html')
  const page = await call('GET', '/swagger/index.html')
  t.equal(page.status, 200)
  t.match(page.headers['content-type'], /^text\/html/)
  t.notMatch(page.text, /https?:\/\//)
  t.match(page.text, /openapi\.json/)
  t.equal((await call('GET', '/swagger/none.js')).status, 404)
})

t.test('both documents describe every route the daemon answers', async t => {
  const { call, daemon: made } = await daemon(t)
  for (const [file, version] of [
    ['doc.json', { swagger: '2.0' }],
    ['openapi.json', { openapi: '3.1.0' }],
  ] as const) {
    const { status, body } = await call('GET', `/swagger/${file}`)
    t.equal(status, 200)
    t.match(body, version)
    for (const { route } of made.bounds) {
      if (route.method === 'HEAD') continue
      if (!mayCall(route.id, 'client')) {
        t.notOk(body.paths[templateOf(route.path)], `${route.id} is for the host`)
        continue
      }
      const operation = body.paths[templateOf(route.path)]?.[route.method.toLowerCase()]
      t.equal(operation?.operationId, route.id, `${file}: ${route.method} ${route.path}`)
      const inPath = operation.parameters.filter((one: { in: string }) => one.in === 'path')
      t.equal(inPath.length, (route.path.match(/[:*]/g) ?? []).length)
    }
    for (const reference of references(body)) {
      const found = reference
        .slice(2)
        .split('/')
        .reduce((at, key) => at?.[key], body)
      t.ok(found, reference)
    }
    const ids = Object.values(body.paths).flatMap(path =>
      Object.values(path as Record<string, { operationId: string }>).map(one => one.operationId),
    )
    t.equal(new Set(ids).size, ids.length, 'ids are unique')
  }
})

t.test('every member and parameter says what it is', async t => {
  const { call } = await daemon(t)
  const { paths, components, tags, security } = (await call('GET', '/swagger/openapi.json')).body
  t.same(untold(components, ''), [])
  t.same(untold(paths, ''), [])
  t.same(
    Object.values<Record<string, { parameters: { name: string; description?: string }[] }>>(paths)
      .flatMap(path => Object.values(path).flatMap(({ parameters }) => parameters))
      .filter(({ description }) => !description),
    [],
  )
  t.same(
    tags.filter(({ description }: { description?: string }) => !description),
    [],
  )
  t.same(security, [{ bearer: [] }, { 'x-svc-authorization': [] }, {}])
  t.match(components.schemas, {
    Process: { properties: { exitCode: { description: '0 while it runs, -1 after a signal', examples: [0] } } },
    StartProcess: { properties: { timeout: { description: /^Seconds/ }, restartOnFailure: { default: false } } },
    Tree: { properties: { subdirectories: { items: { $ref: '#/components/schemas/TreeDirectory' } } } },
  })
})

t.test('the base address is the one behind the edge when the platform says where we are', async t => {
  const plain = await daemon(t)
  t.match((await plain.call('GET', '/swagger/doc.json')).body, {
    host: 'localhost:8080',
    basePath: '/',
    schemes: ['http'],
  })
  await plain.close()
  const placed = await daemon(t, { env: { SVC_WORKSPACE: 'acme', SVC_NAME: 'box', SVC_ENV: 'prod' } })
  t.equal((await placed.call('GET', '/swagger/doc.json')).body.basePath, '/acme/sandboxes/box')
  await placed.close()
  const local = await daemon(t, { env: { SVC_WORKSPACE: 'acme', SVC_NAME: 'box', SVC_ENV: 'local' } })
  t.equal((await local.call('GET', '/swagger/doc.json')).body.basePath, '/')
})

t.test('every example is what its schema says, and every operation says how it is refused', async t => {
  const { call } = await daemon(t)
  const { body } = await call('GET', '/swagger/openapi.json')
  const { wrong, count } = wrongExamples(body)
  t.ok(count > 100, `${count} examples`)
  t.same(wrong, [])
  t.same(unrefused(body), [])
})
