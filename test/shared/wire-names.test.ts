import t from 'tap'
import { parseWireNames, wireNames, writeWireNames } from '../../shared/wire-names.ts'

t.test('configuration names the prefixes; nothing gives the neutral one', async t => {
  for (const empty of [undefined, ''])
    t.same(parseWireNames(empty, 'x'), [{ header: 'Svc', short: 'svc', image: 'svc' }])
  t.same(parseWireNames('Acme:ac:acme-images, Other', 'x'), [
    { header: 'Svc', short: 'svc', image: 'svc' },
    { header: 'Acme', short: 'ac', image: 'acme-images' },
    { header: 'Other', short: 'other', image: 'other' },
  ])
  for (const bad of [
    '1a',
    'A-b',
    'A:B',
    'A:a:B',
    ',',
    'A:a:',
    'A b',
    'A\r\nX',
    'A:a:b:c',
    'A,A',
    'A,a',
    'Svc:other',
    '[',
    '[{}]',
  ])
    t.throws(
      () => parseWireNames(bad, 'HUTCH_WIRE_NAMES'),
      { code: 'invalid_argument', message: /^HUTCH_WIRE_NAMES: / },
      bad,
    )
})

t.test('a host tells its daemons all words of every name', async t => {
  const list = parseWireNames('Acme:ac', 'x').map(name => ({ ...name, previewToken: `${name.short}-preview` }))
  t.same(parseWireNames(writeWireNames(list.slice(1)), 'x'), [
    { header: 'Svc', short: 'svc', image: 'svc' },
    { header: 'Acme', short: 'ac', image: 'ac', previewToken: 'ac-preview' },
  ])
  t.equal(writeWireNames(parseWireNames('Acme:ac', 'x')), 'Svc:svc:svc,Acme:ac:ac')
})

t.test('every spelling that is accepted, the preferred one first', async t => {
  const names = wireNames(parseWireNames('Acme:ac,Svc', 'x'))
  t.same(names.env('WORKSPACE'), ['AC_WORKSPACE', 'SVC_WORKSPACE', 'ACME_WORKSPACE'])
  t.same(names.driveEnv('UID_MAP'), ['ACFS_UID_MAP', 'SVCFS_UID_MAP'])
  t.same(names.header('subject-id'), ['x-acme-subject-id', 'x-svc-subject-id'])
})
