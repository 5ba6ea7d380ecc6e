/** Whatever is sent to whichever route of the management API: no accident, a documented status, an error that programs can read. */
import t from 'tap'
import type { CallOptions } from '../../../support/call.ts'
import type { Route } from '../../../../shared/route.ts'
import { toJsonSchema } from '../../../../shared/schema.ts'
import { control, type TestControl } from '../../../support/control.ts'
import { badBodies, badQueries, badSegments, badValues, broke, documented } from '../../../support/garbage.ts'

const judge = async ({ call, api }: TestControl) => {
  const { body: document } = await call('GET', '/openapi.json')
  const routes = api.bounds.map(({ route }) => route)
  let asked = 0
  return {
    routes,
    asked: () => asked,
    /** What is wrong with the answer, or undefined. `target` is without `/v0`. */
    async wrong(route: Route, target: string, body?: unknown, options?: CallOptions): Promise<string | undefined> {
      asked++
      const answer = await call(route.method, target, body, options)
      const said = `${route.method} ${target.slice(0, 120)} ${String(body).slice(0, 60)}: ${answer.status} ${answer.text.slice(0, 150)}`
      if (broke(answer) || answer.status >= 500) return said
      if (answer.body?.error === 'route_not_found' || answer.body?.error === 'method_not_allowed') return undefined
      if (!documented(document, route, answer.status)) return `not documented: ${said}`
      if (answer.status < 400) return undefined
      // JSON-RPC has its own form of errors.
      if (answer.body?.jsonrpc === '2.0' && typeof answer.body.error?.message === 'string') return undefined
      const { error, code, message } = answer.body ?? {}
      const readable =
        typeof error === 'string' && code === answer.status && typeof message === 'string' && message !== ''
      return readable ? undefined : `no readable error: ${said}`
    },
  }
}

const addressOf = ({ path }: Route, segment: string): string => path.replace(/^\/v0/, '').replace(/:\w+/g, segment)

/** Fields of a body down to two levels, as bodies that hold only that one. */
const bodiesWith = (route: Route, value: unknown): unknown[] => {
  const { properties = {} } = toJsonSchema(route.body) as { properties?: Record<string, { properties?: object }> }
  return Object.entries(properties).flatMap(([field, { properties: inner = {} }]) => [
    { [field]: value },
    ...Object.keys(inner).map(name => ({ [field]: { [name]: value } })),
  ])
}

t.test('bodies', async t => {
  const tested = await control(t)
  const { routes, wrong, asked } = await judge(tested)
  for (const route of routes) {
    if (route.accepts !== 'json') continue
    const all = [...badBodies, ...badValues.flatMap(value => bodiesWith(route, value).map(one => JSON.stringify(one)))]
    for (const body of all) {
      const found = await wrong(route, addressOf(route, 'none'), body)
      if (found) t.fail(found)
    }
  }
  t.ok(asked() > 100, `${asked()} asked`)
})

t.test('queries', async t => {
  const { routes, wrong, asked } = await judge(await control(t))
  for (const route of routes) {
    for (const key of [...Object.keys((toJsonSchema(route.query)['properties'] ?? {}) as object), 'workspace', 'x'])
      for (const value of badQueries) {
        const found = await wrong(route, `${addressOf(route, 'none')}?${key}=${encodeURIComponent(value)}`, {})
        if (found) t.fail(found)
      }
  }
  t.ok(asked() > 100, `${asked()} asked`)
})

t.test('addresses and headers', async t => {
  const { routes, wrong, asked } = await judge(await control(t))
  for (const route of routes) {
    for (const segment of route.path.includes(':') ? badSegments : []) {
      const found = await wrong(route, addressOf(route, segment), {})
      if (found) t.fail(found)
    }
    for (const value of ['', '\0', 'Bearer', 'Bearer ', 'x'.repeat(70_000), '../..', '\u00ff'])
      for (const name of ['authorization', 'svc-version', 'svc-workspace', 'x-svc-workspace', 'x-request-id']) {
        const found = await wrong(route, addressOf(route, 'none'), {}, { headers: { [name]: value } })
        if (found) t.fail(found)
      }
  }
  t.ok(asked() > 100, `${asked()} asked`)
})
