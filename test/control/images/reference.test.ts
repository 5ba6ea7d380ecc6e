import t from 'tap'
import { keyOf } from '../../../control/images/reference.ts'

const options = {
  wireNames: [
    { header: 'Svc', short: 'svc', image: 'svc' },
    { header: 'Acme', short: 'acme', image: 'acme' },
  ],
  aliases: { 'base-image': 'base' },
}

t.test('a reference becomes a key', async t => {
  const cases: Record<string, string> = {
    base: 'base',
    'base:latest': 'base',
    'base:1.2': 'base:1.2',
    'base-image': 'base',
    'svc/base-image': 'base',
    'svc/base-image:latest': 'base',
    'acme/base-image:latest': 'base',
    'acme/base-image:v2': 'base:v2',
    'other/base-image:latest': 'other/base-image',
    'registry.example:5000/team/app:1': 'registry.example:5000/team/app:1',
    'registry.example:5000/team/app': 'registry.example:5000/team/app',
  }
  for (const [reference, key] of Object.entries(cases)) t.equal(keyOf(reference, options), key, reference)
})

t.test('what is no reference has no key', async t => {
  for (const reference of [
    '',
    '/',
    '../x',
    'a/../b',
    'Base',
    'base:',
    'base: x',
    'svc/',
    '--help',
    'a b',
    'base:latest:x',
    'x'.repeat(256),
    'a\0b',
  ])
    t.equal(keyOf(reference, options), undefined, JSON.stringify(reference.slice(0, 20)))
  t.equal(keyOf('constructor', options), 'constructor', 'names of Object.prototype are plain names')
})
