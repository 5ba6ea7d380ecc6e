import t from 'tap'
import { command, installationOf } from '../../shared/installation.ts'

t.test('sources are a checkout, compiled ones are a package', async t => {
  t.same(installationOf('/src/hutch/shared/installation.ts'), { kind: 'checkout', root: '/src/hutch' })
  t.same(installationOf('/app/node_modules/hutch/dist/shared/installation.js'), {
    kind: 'package',
    root: '/app/node_modules/hutch',
  })
})

t.test('people are told to type what works where they are', async t => {
  t.equal(command('doctor'), 'make doctor')
  t.equal(command('doctor', { kind: 'package' }), 'npx hutch doctor')
})
