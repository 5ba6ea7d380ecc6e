import t from 'tap'
import { headerOf, wireNames } from '../../../../control/base/wire/names.ts'

const two = wireNames([
  { header: 'Svc', short: 'svc', image: 'svc' },
  { header: 'Acme', short: 'ac', image: 'acme' },
])

t.test('every prefix yields its headers, queries and variables', async t => {
  t.same(two.credentialHeaders, ['x-svc-authorization', 'x-acme-authorization', 'authorization'])
  t.same(two.workspaceHeaders, ['x-svc-workspace', 'x-acme-workspace'])
  t.same(two.versionHeaders, ['svc-version', 'acme-version'])
  t.same(two.previewTokenQueries, ['svc_preview_token', 'ac_preview_token'])
  t.same(two.headers('Source'), ['X-Svc-Source', 'X-Acme-Source'])
  t.same(two.environment({ NAME: 'a' }), { SVC_NAME: 'a', AC_NAME: 'a', ACME_NAME: 'a' })
  t.equal(two.imageName('base-image:latest'), 'svc/base-image:latest')
})

t.test('the first header that says something wins', async t => {
  t.equal(headerOf({ b: 'two', a: 'one' }, ['a', 'b']), 'one')
  t.equal(headerOf({ b: ['two', 'three'], a: '' }, ['a', 'b']), 'two')
  t.equal(headerOf({}, ['a']), undefined)
})
