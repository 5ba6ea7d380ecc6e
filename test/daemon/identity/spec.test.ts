import t from 'tap'
import { identityEnvironment, loadIdentity } from '../../../daemon/identity/index.ts'
import { resolveIdentity } from '../../../daemon/identity/spec.ts'

const database = {
  passwd:
    'root:x:0:0:root:/root:/bin/sh\n# a comment\napp:x:1000:1001:App:/home/app:/bin/sh\n12:x:4242:4242::/odd:\nbad:x:x:1::/:\n',
  group: 'root:x:0:\napp:x:1001:\nwheel:x:10:other,app\nmedia:x:44:app\nbad:x:-1:app\n',
}

t.test('names and numbers resolve as in Docker', async t => {
  const app = { name: 'app', uid: 1000, gid: 1001, home: '/home/app' }
  const cases = {
    app: { ...app, groups: [10, 44] },
    '1000': { ...app, groups: [10, 44] },
    'app:media': { ...app, gid: 44, groups: [] },
    'app:77': { ...app, gid: 77, groups: [] },
    '10001': { name: '10001', uid: 10001, gid: 10001, home: '/', groups: [] },
    '10001:0': { name: '10001', uid: 10001, gid: 0, home: '/', groups: [] },
    '10001:wheel': { name: '10001', uid: 10001, gid: 10, home: '/', groups: [] },
    // A name wins over a number.
    '12': { name: '12', uid: 4242, gid: 4242, home: '/odd', groups: [] },
  }
  for (const [spec, wanted] of Object.entries(cases)) t.strictSame(resolveIdentity(spec, database), wanted, spec)
})

t.test('root, the unknown and the malformed are refused by name', async t => {
  const refused = ['root', '0', '00', 'root:app', 'nobody', 'app:nogroup', '', ':app', 'app:', 'a:b:c', '-1', 'bad']
  for (const spec of [...refused, '4294967296', '4294967295', '1e3', 'app '])
    t.throws(() => resolveIdentity(spec, database), { code: 'invalid_argument', details: { field: 'user' } }, spec)
})

t.test('without a spec there is no identity; with one its variables win', async t => {
  t.equal(loadIdentity(undefined), undefined)
  t.strictSame(identityEnvironment(undefined, { HOME: '/x' }), { HOME: '/x' })
  const identity = resolveIdentity('app', database)
  t.strictSame(identityEnvironment(identity, { HOME: '/root', A: 'b', USER: 'root' }), {
    HOME: '/home/app',
    A: 'b',
    USER: 'app',
    LOGNAME: 'app',
  })
})

t.test('the real user database is read', async t => {
  t.match(loadIdentity('nobody'), { name: 'nobody', uid: Number })
  t.throws(() => loadIdentity('surely-nobody-has-this-name'), { code: 'invalid_argument' })
})
