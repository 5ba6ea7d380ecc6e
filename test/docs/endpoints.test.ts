/** No endpoint is missing on its family's page, and none is told otherwise than it is declared. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { daemon } from '../support/daemon.ts'
import { declaredRoutes, familiesOf, tableOf, withTable } from './endpoints.ts'
import { withRoutes } from './management.ts'

const page = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')

t.test('the tables are as declared; if not: node test/docs/write.ts', async t => {
  const routes = await declaredRoutes()
  for (const [name, families] of Object.entries(familiesOf))
    t.equal(withTable(page(name), tableOf(routes, families)), page(name), name)
})

t.test('the management page lists what is declared; if not: node test/docs/write.ts management.md', async t => {
  t.equal(withRoutes(page('management.md')), page('management.md'))
})

t.test('every family of the daemon has a page', async t => {
  const { daemon: made } = await daemon(t)
  const known = new Set(Object.values(familiesOf).flat())
  for (const { route } of made.bounds) if (route.method !== 'HEAD') t.ok(known.has(route.family), route.id)
})
