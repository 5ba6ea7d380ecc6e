/** CONTRIBUTING.md answers where things are: the paths exist, and it answers at least twenty questions. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkout } from '../support/chroot.ts'

t.test('each answer of "Where is it?" is a path that exists', async t => {
  const page = readFileSync(join(checkout, 'CONTRIBUTING.md'), 'utf8')
  const table = page.slice(page.indexOf('## Where is it?'), page.indexOf('## Recipes'))
  const paths = [...table.matchAll(/^\| .*\? \| `([^`]+)` \|$/gm)].map(([, path]) => path as string)
  t.ok(paths.length >= 20, `${paths.length} questions`)
  t.same(
    paths.filter(path => !existsSync(join(checkout, path))),
    [],
  )
})
