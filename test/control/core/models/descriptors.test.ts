/** The table of provider types in docs/models.md is what the descriptors say. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { providers } from '../../../../control/core/models/providers/index.ts'

t.test('every provider type is documented with what was tried', async t => {
  const page = readFileSync(new URL('../../../../docs/models.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([\w-]+)` \|.*\| ([\w ]+) \|$/gm)].map(([, type, tried]) => [type, tried])
  const words = { client: 'a real client and a mock', specification: 'from the published specification alone' }
  t.same(rows.toSorted(), providers.map(({ type, verified }) => [type, words[verified]]).toSorted())
  t.equal(providers.length, 18)
})
