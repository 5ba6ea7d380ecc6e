import t from 'tap'
import { keyOf, remoteOf } from '../../../../control/core/images/reference.ts'

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

t.test('a reference with a host is an image of a registry', async t => {
  const digest = `sha256:${'a'.repeat(64)}`
  const cases: Record<string, string> = {
    'docker.io/python': 'docker.io/library/python:latest',
    'index.docker.io/library/python:3.12-slim': 'docker.io/library/python:3.12-slim',
    'docker.io/me/app': 'docker.io/me/app:latest',
    'localhost/app:1': 'localhost/app:1',
    'registry:5000/a/b/c': 'registry:5000/a/b/c:latest',
    [`ghcr.io/a/b@${digest}`]: `ghcr.io/a/b@${digest}`,
    [`ghcr.io/a/b:1@${digest}`]: `ghcr.io/a/b@${digest}`,
  }
  for (const [reference, name] of Object.entries(cases)) t.equal(remoteOf(reference)?.name, name, reference)
  t.match(remoteOf('docker.io/python:3'), { host: 'docker.io', repository: 'library/python', tag: '3' })
  for (const reference of [
    'python',
    'library/python',
    'docker.io',
    'docker.io/',
    'docker.io/../x',
    'docker.io/A',
    'docker.io/a:b:c',
    'ghcr.io/a@sha256:1',
    `ghcr.io/a@${digest}@${digest}`,
    'user@ghcr.io/a',
    'https://ghcr.io/a',
    '[::1]:5000/a',
    'registry:0/a',
    '/etc/passwd',
    `ghcr.io/${'a'.repeat(400)}`,
  ])
    t.equal(remoteOf(reference), undefined, reference.slice(0, 40))
})

t.test('a name that no file could have is none', async t => {
  const named = (length: number) => `registry.example.com/${'a'.repeat(length)}:1`
  // Of the file name two characters are written as three bytes each.
  const longest = 230 - 'registry.example.com'.length - '%2F'.length - '%3A1'.length
  t.equal(remoteOf(named(longest))?.name, named(longest))
  t.equal(remoteOf(named(longest + 1)), undefined)
})
