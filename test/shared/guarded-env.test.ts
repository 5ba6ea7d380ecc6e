import t from 'tap'
import { guardEnvironment, unguardEnvironment } from '../../shared/guarded-env.ts'

t.test('what a tenant sets does not reach the first process by name, and reaches its children', async t => {
  const given = { LD_PRELOAD: '/tmp/x.so', NODE_OPTIONS: '--require /tmp/x', PATH: '/bin', UMLAUT: 'ä\n"', EMPTY: '' }
  const guarded = guardEnvironment({ ...given, HUTCH_PORT: '8080' })
  t.match(guarded, { HUTCH_PORT: '8080' })
  t.ok(
    Object.keys(guarded).every(name => name.startsWith('HUTCH_')),
    'nothing else is in the open',
  )
  t.same(unguardEnvironment(guarded), given)
})

t.test('a large environment is cut into pieces the kernel accepts', async t => {
  const given = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`V${i}`, String(i).repeat(50_000)]))
  const guarded = guardEnvironment(given)
  for (const [name, value] of Object.entries(guarded)) t.ok(name.length + value.length < 131_000, `${name} fits`)
  t.same(unguardEnvironment(guarded), given)
})

t.test('a packed variable cannot be given from outside', async t => {
  const forged = Buffer.from('{"LD_PRELOAD":"/tmp/x.so"}').toString('base64')
  const guarded = guardEnvironment({ HUTCH_GUARDED_ENV_0: forged, HUTCH_GUARDED_ENV_7: 'x', A: '1' })
  t.same(Object.keys(guarded), ['HUTCH_GUARDED_ENV_0'], 'not as a further piece either, which would spoil the whole')
  t.same(unguardEnvironment(guarded), { A: '1' })
})

t.test('an environment that was never guarded is passed on without the own variables', async t => {
  t.same(unguardEnvironment({ HOME: '/root', HUTCH_PORT: '1', UNSET: undefined }), { HOME: '/root' })
})
