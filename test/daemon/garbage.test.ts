/** Whatever is sent to whichever route, the caller hears what was wrong with it and never that the daemon broke. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mayCall } from '../../daemon/channel/audience.ts'
import type { Route } from '../../shared/route.ts'
import { toJsonSchema } from '../../shared/schema.ts'
import { daemon, type TestDaemon } from '../support/daemon.ts'
import { badBodies, badQueries, badSegments, badValues, broke, documented } from '../support/garbage.ts'

const quiet = (route: Route): boolean => route.method !== 'HEAD' && !route.upgrade

/** The address of a route: a rest means a place below `dir`, so that nothing else can be touched. */
const addressOf = (route: Route, dir: string, segment: string): string =>
  route.path.replace(/\*\w+/, encodeURIComponent(join(dir, 'below'))).replace(/:\w+/g, segment)

/** Calls a route and says what is wrong with its answer: an accident, an undocumented status, an error of another shape. */
const judge = async ({ call }: TestDaemon) => {
  const { body: document } = await call('GET', '/swagger/openapi.json')
  return async (route: Route, target: string, body?: unknown): Promise<string | undefined> => {
    const answer = await call(route.method, target, body === undefined ? {} : { body })
    const said = `${route.method} ${target.slice(0, 120)} ${String(body).slice(0, 60)}: ${answer.status} ${answer.text.slice(0, 100)}`
    if (broke(answer)) return said
    // An address that is none of the route's.
    if (answer.status === 404 && answer.text.startsWith('404 page')) return undefined
    if (answer.status === 301 || answer.status === 307) return undefined
    if (mayCall(route.id, 'client') && !documented(document, route, answer.status)) return `not documented: ${said}`
    const isError = answer.status >= 400 && answer.headers['content-type']?.startsWith('application/json')
    return isError && typeof answer.body?.error !== 'string' ? `no error text: ${said}` : undefined
  }
}

t.test('bodies', async t => {
  const tested = await daemon(t)
  const { call, dir, daemon: made } = tested
  const wrong = await judge(tested)
  mkdirSync(join(dir, 'below'))
  let asked = 0
  for (const { route } of made.bounds) {
    if (!quiet(route) || route.accepts !== 'json') continue
    const fields = Object.keys((toJsonSchema(route.body)['properties'] ?? {}) as object)
    const all = [...badBodies, ...fields.flatMap(field => badValues.map(value => JSON.stringify({ [field]: value })))]
    for (const body of all) {
      const found = await wrong(route, addressOf(route, dir, '1073741824'), body)
      asked++
      if (found) t.fail(found)
    }
  }
  t.ok(asked > 20, `${asked} asked`)
  t.equal((await call('GET', '/health')).status, 200)
})

t.test('queries', async t => {
  const tested = await daemon(t)
  const { call, dir, daemon: made } = tested
  const wrong = await judge(tested)
  mkdirSync(join(dir, 'below'))
  let asked = 0
  for (const { route } of made.bounds) {
    // Those that answer something else than JSON may answer for ever.
    if (!quiet(route) || route.method !== 'GET' || route.produces.length > 0) continue
    for (const key of Object.keys((toJsonSchema(route.query)['properties'] ?? {}) as object))
      for (const value of badQueries) {
        const target = `${addressOf(route, dir, '1073741824')}?${key}=${encodeURIComponent(value)}`
        const found = await wrong(route, target)
        asked++
        if (found) t.fail(found)
      }
  }
  t.ok(asked > 20, `${asked} asked`)
  t.equal((await call('GET', '/health')).status, 200)
})

t.test('addresses', async t => {
  const tested = await daemon(t)
  const { call, daemon: made } = tested
  const wrong = await judge(tested)
  let asked = 0
  for (const { route } of made.bounds) {
    if (!quiet(route) || !route.path.includes(':')) continue
    for (const segment of badSegments) {
      const target = route.path.replace(/:\w+/g, segment)
      const found = await wrong(route, target, '{}')
      asked++
      if (found) t.fail(found)
    }
  }
  t.ok(asked > 20, `${asked} asked`)
  t.equal((await call('GET', '/health')).status, 200)
})

t.test('a field of a type that the document does not allow is a 400 that names it', async t => {
  const { call, dir, daemon: made } = await daemon(t)
  mkdirSync(join(dir, 'below'))
  let asked = 0
  for (const { route } of made.bounds) {
    if (route.accepts !== 'json') continue
    for (const field of Object.keys((toJsonSchema(route.body)['properties'] ?? {}) as object))
      for (const value of [{ a: 1 }, [[]], 1e300]) {
        const issue = route.body.safeParse({ [field]: value }).error?.issues.find(({ path }) => path[0] === field)
        // Some fields take anything, and what is missing is named before what is wrong.
        if (!issue || issue.path.length > 1) continue
        const answer = await call(route.method, addressOf(route, dir, '1073741824'), { body: { [field]: value } })
        asked++
        t.equal(answer.status, 400, `${route.id} ${field}`)
        const first = route.body.safeParse({ [field]: value }).error?.issues[0]?.path[0]
        t.ok(answer.body.error.includes(String(first)), `${route.id} ${field}: ${answer.body.error}`)
      }
  }
  t.ok(asked > 20, `${asked} asked`)
})
