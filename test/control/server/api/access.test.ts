/** Every route of the management API asked by everybody: who is let in is what the route states, and nothing else. */
import t from 'tap'
import { accessOf, type Access } from '../../../../control/core/access/access.ts'
import { extraOf } from '../../../../control/server/api/surface.ts'
import type { ApiKey } from '../../../../control/core/store/store.ts'
import type { Route } from '../../../../shared/route.ts'
import { control, type TestControl } from '../../../support/control.ts'

/** Names that the routes of the account know; whatever else is asked for is not there. */
const names: Readonly<Record<string, string>> = { accountId: 'default', workspaceName: 'default' }

/** A delete must find nothing: the workspace and the keys of these tests would go. */
const nameIn = ({ method }: Route, name: string): string => (method === 'DELETE' ? undefined : names[name]) ?? 'none'

const targetOf = (route: Route): string =>
  `${route.path.replace(/^\/v0/, '').replace(/:(\w+)/g, (_, name: string) => nameIn(route, name))}?workspace=default`

interface Asker {
  readonly headers: Readonly<Record<string, string>>
  /** The status it must be refused with, or undefined where it must get past the door. */
  readonly refused: (access: Access, route: Route) => number | undefined
}

const scopesOf = ({ scope }: Access): readonly string[] => (typeof scope === 'string' ? [scope] : scope)

const askers = async (made: TestControl): Promise<Record<string, Asker>> => {
  const { addKey, addWorkspace, clock, key } = made
  await addWorkspace('other')
  const bearer = async (given: Partial<ApiKey>) => ({ authorization: `Bearer ${await addKey(given)}` })
  // Where no workspace is looked for, the route itself says what a key of another one may see.
  const foreign = (_: Access, route: Route) => (extraOf(route).tenant === 'none' ? 0 : 403)
  const unlessMember = ({ role }: Access) => (role === 'member' ? undefined : 403)
  const unlessAdmin = ({ role }: Access) => (role === 'account' ? 403 : undefined)
  return {
    'no credential': { headers: { authorization: '' }, refused: () => 401 },
    'wrong key': { headers: { authorization: 'Bearer wrong' }, refused: () => 401 },
    'expired key': { headers: await bearer({ role: 'admin', expiresAt: clock.now() }), refused: () => 401 },
    'key of another workspace': { headers: await bearer({ role: 'admin', workspace: 'other' }), refused: foreign },
    'key without the scope': {
      headers: await bearer({ role: 'admin', accountAdmin: true, scopes: ['nothing:at-all'] }),
      refused: access => (scopesOf(access).length === 0 ? undefined : 403),
    },
    member: { headers: await bearer({ workspace: 'default' }), refused: unlessMember },
    admin: { headers: await bearer({ workspace: 'default', role: 'admin' }), refused: unlessAdmin },
    'admin of the account': { headers: { authorization: `Bearer ${key}` }, refused: () => undefined },
    'key of the scope admin': {
      headers: await bearer({ role: 'admin', accountAdmin: true, scopes: ['admin'] }),
      refused: () => undefined,
    },
  }
}

t.test('every route × every caller', async t => {
  const made = await control(t)
  const all = Object.entries(await askers(made))
  const closed = made.api.bounds.map(({ route }) => route).filter(({ open }) => !open)
  t.ok(closed.length > 10)
  const key = await made.addKey({ role: 'admin', accountAdmin: true, scopes: [] })
  for (const route of closed) {
    const access = accessOf(route) as Access
    const ask = (headers: Asker['headers']) => made.call(route.method, targetOf(route), {}, { headers })
    for (const [who, { headers, refused }] of all) {
      const expected = refused(access, route)
      const { status, text } = await ask(headers)
      const said = `${route.id}, ${who}: ${status} ${text.slice(0, 80)}`
      if (expected === undefined) t.ok(status !== 401 && status !== 403 && status < 500, said)
      else if (expected === 0) t.ok(status < 500, said)
      else t.equal(status, expected, said)
    }
    if (scopesOf(access).length === 0) {
      t.equal(route.id, 'mcp.call', 'whose tools need scopes of their own')
      continue
    }
    const missing = await ask({ authorization: `Bearer ${key}` })
    t.match(missing.body, { message: new RegExp(`"${scopesOf(access)[0]}"`) }, `${route.id} names the scope it needs`)
  }
})

t.test('each scope of a route is enough together with the others, and none alone', async t => {
  const made = await control(t)
  for (const { route } of made.api.bounds) {
    if (route.open) continue
    const scopes = scopesOf(accessOf(route) as Access)
    const ask = async (given: readonly string[]) => {
      const key = await made.addKey({ role: 'admin', accountAdmin: true, scopes: given })
      return (await made.call(route.method, targetOf(route), {}, { headers: { authorization: `Bearer ${key}` } }))
        .status
    }
    t.not(await ask(scopes), 403, `${route.id} with ${scopes.join(' ')}`)
    for (const scope of scopes)
      t.equal(await ask(scopes.filter(one => one !== scope)), 403, `${route.id} without ${scope}`)
  }
})

t.test('a key is revoked in the moment it is removed', async t => {
  const { call, addKey, store } = await control(t)
  const key = await addKey({ id: 'k' })
  const asked = { headers: { authorization: `Bearer ${key}` } }
  t.equal((await call('GET', '/sandboxes', undefined, asked)).status, 200)
  await store.tenants.removeApiKey('k')
  t.equal((await call('GET', '/sandboxes', undefined, asked)).status, 401)
})
