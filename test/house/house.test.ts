/** The rules of the house that can be read off the sources. */
import t from 'tap'
import { errors } from '../../shared/errors.ts'
import { exportRules } from './exports.ts'
import { importRules } from './imports.ts'
import { sizeRules } from './sizes.ts'
import { readSources } from './sources.ts'

const sources = readSources()
t.ok(sources.length > 100, 'found the sources')
await importRules(t, sources)
await sizeRules(t, sources)
await exportRules(t, sources)

t.test('every error of the table is thrown somewhere, by its name', async t => {
  const thrown = new Set(sources.flatMap(({ failures }) => failures))
  t.same(
    Object.keys(errors).filter(code => !thrown.has(code)),
    [],
  )
})
