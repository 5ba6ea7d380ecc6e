/** The page that documents the errors is as computed. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { errorsPage } from './errors-page.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('docs/errors.md is what the table says', async t => {
  const page = join(root, 'docs/errors.md')
  t.ok(existsSync(page), 'the page exists; make it with: node test/house/errors-page.ts')
  t.equal(readFileSync(page, 'utf8'), errorsPage())
})
