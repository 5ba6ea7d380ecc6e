/** Every endpoint that is declared is answered, under one id, and the library's face changes only on purpose. */
import { globSync } from 'node:fs'
import t from 'tap'
import { audiences, mayCall } from '../../daemon/channel/audience.ts'
import * as library from '../../control/index.ts'
import type { Route } from '../../shared/route.ts'
import { control } from '../support/control.ts'
import { daemon } from '../support/daemon.ts'

const root = new URL('../..', import.meta.url)

const isRoute = (value: unknown): value is Route =>
  typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'accepts' in value

/** Routes exported by a module, alone, in lists or in records. */
const routesIn = (value: unknown): Route[] => {
  if (isRoute(value)) return [value]
  if (Array.isArray(value)) return value.flatMap(routesIn)
  return []
}

const declared = async (): Promise<Map<string, Route>> => {
  const found = new Map<string, Route>()
  for (const file of globSync('shared/wire/*.ts', { cwd: root }))
    for (const value of Object.values((await import(new URL(file, root).href)) as object))
      for (const route of routesIn(value)) {
        const other = found.get(route.id)
        if (other && other !== route) throw new Error(`${route.id} is declared twice: ${other.path} and ${route.path}`)
        found.set(route.id, route)
      }
  return found
}

t.test('every declared route is bound, each id once', async t => {
  const { daemon: made } = await daemon(t, { env: { SVC_ENV: 'dev' } })
  const { api } = await control(t)
  const bound = [...made.bounds, ...api.bounds]
  const all = await declared()
  t.ok(all.size > 40, 'found the declarations')
  for (const [id, route] of all)
    t.ok(
      bound.some(({ route: other }) => other === route),
      `${id} (${route.method} ${route.path}) is answered`,
    )
  for (const { bounds } of [made, api]) {
    const ids = bounds.map(({ route }) => route.id)
    t.same(
      ids.filter((id, index) => ids.indexOf(id) !== index),
      [],
      'no id is used twice',
    )
  }
})

t.test(
  'every endpoint and tool of the daemon has a line that says whom it answers, and no line is left over',
  async t => {
    const { daemon: made, call } = await daemon(t, { env: { SVC_ENV: 'dev', RELACE_API_KEY: 'k' } })
    const listed = await call('POST', '/mcp', {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    })
    const tools = listed.body.result.tools.map(({ name }: { name: string }) => `mcp:${name}`)
    const ids = made.bounds.map(({ route }) => route.id).filter(id => !id.startsWith('probe.'))
    t.same([...audiences.keys()].toSorted(), [...ids, ...tools].toSorted())
  },
)

t.test('every route says what it is for', async t => {
  const { daemon: made } = await daemon(t)
  const { api } = await control(t)
  for (const { route } of [...made.bounds, ...api.bounds].filter(({ route }) => route.method !== 'HEAD'))
    t.match(route.summary, /^[A-Z].{7,}[^.]$/s, `${route.id}: ${route.summary}`)
})

const routesOf = (groups: Readonly<Record<string, object>>): Route[] =>
  Object.values(groups).flatMap(group => Object.values(group) as Route[])

const addressesOf = (routes: readonly Route[]): string[] =>
  routes.map(({ id, method, path }) => `${id}: ${method} ${path}`).toSorted()

t.test('a client finds every route of both APIs', async t => {
  const { daemon: made } = await daemon(t, { env: { SVC_ENV: 'dev' } })
  const { api } = await control(t)
  // What answers who looks around, or what a defect looks like, is for no program; what answers the host is for no other.
  const others = /^(probe\.|system\.welcome\.|system\.panic$)/
  const answered = made.bounds.map(({ route }) => route).filter(({ id }) => !others.test(id) && mayCall(id, 'client'))
  t.same(addressesOf(routesOf(library.sandboxRoutes)), addressesOf(answered))
  const managed = api.bounds.map(({ route }) => route)
  t.same(addressesOf(routesOf(library.managementRoutes)), addressesOf(managed))
})

t.test('what the library exports is on purpose', async t => {
  t.same(Object.keys(library).toSorted(), [
    'AppError',
    'createClient',
    'isError',
    'managementRoutes',
    'openHost',
    'sandboxRoutes',
  ])
})
