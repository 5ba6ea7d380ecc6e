/** docs/walls.md has the table by which sandboxes are attacked; numbers of the code that it cannot import are found. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { pending, sharedTables } from '../support/shared-tables.ts'
import { withWalls } from './walls.ts'

const page = readFileSync(new URL('../../docs/walls.md', import.meta.url), 'utf8')

t.test('the table is as it is attacked; if not: node test/docs/write.ts walls.md', async t => {
  t.equal(withWalls(page), page)
  t.equal(pending, 65_536)
  for (const { what, bound, keptBy, attacks, elsewhere } of sharedTables) {
    t.notMatch(`${bound} ${keptBy}`, /undefined|NaN/, what)
    t.notMatch(bound, /^0$/, `${what}: the number is found in the code`)
    const [file, text] = elsewhere ?? []
    const isTried = file ? readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').includes(text ?? '') : false
    t.ok(attacks.length > 0 || isTried, `${what} is attacked`)
  }
})
