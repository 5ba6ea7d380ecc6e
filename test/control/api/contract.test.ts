/** Every operation of the contract is served, with the scopes it has there; those that are not available here say so. */
import t from 'tap'
import { accessOf } from '../../../control/auth/access.ts'
import { control } from '../../support/control.ts'
import { operations } from './contract-operations.ts'

/** Not served yet. */
const later = [
  'DELETE /images',
  'DELETE /images/{resourceType}/{imageName}',
  'DELETE /images/{resourceType}/{imageName}/tags/{tagName}',
]

/** Paths of what needs storage that this host does not have. */
const notAvailable = /^\/sandboxes\/\{\}\/(snapshots|fork|schedules|schedule-executions)(\/|$)/

const shapeOf = (path: string): string => path.replaceAll(/\{[^}]*\}|:\w+/g, '{}')

t.test('every operation', async t => {
  const { api, call } = await control(t)
  t.equal(operations.length, 159)
  await call('POST', '/sandboxes', { metadata: { name: 'web' } })
  for (const { method, path, scopes } of operations) {
    const name = `${method} ${path}`
    const bound = api.bounds.find(
      ({ route }) => route.method === method && shapeOf(route.path) === `/v0${shapeOf(path)}`,
    )
    if (!bound) {
      t.ok(later.includes(name), `${name} is served`)
      continue
    }
    const access = accessOf(bound.route)
    t.same((access ? [access.scope].flat() : ['public']).toSorted(), scopes.toSorted(), `${name}: its scopes`)
    if (!notAvailable.test(shapeOf(path))) continue
    const at = path.replace('{sandboxName}', 'web').replaceAll(/\{\w+\}/g, 'x')
    t.match(await call(method, at, {}), { status: 400, body: { error: 'not_available', code: 400 } }, name)
    t.match(await call(method, at.replace('web', 'nobody'), {}), { status: 404 }, `${name} of nothing`)
  }
})
