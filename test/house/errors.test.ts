/** Every error of the table is thrown somewhere; the page that documents them is as computed. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { errors } from '../../shared/errors.ts'
import { errorsPage } from './errors-page.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('every error is thrown somewhere', async t => {
  const code = globSync('{shared,daemon,control}/**/*.ts', { cwd: root, exclude: ['**/errors.ts'] })
    .map(file => readFileSync(join(root, file), 'utf8'))
    .join('\n')
  for (const name of Object.keys(errors))
    t.ok(
      code.includes(`fail('${name}'`) || (code.includes(`fail(\n`) && code.includes(`'${name}'`)),
      `${name} is thrown`,
    )
})

t.test('docs/errors.md is what the table says', async t => {
  const page = join(root, 'docs/errors.md')
  t.ok(existsSync(page), 'the page exists; make it with: node test/house/errors-page.ts')
  t.equal(readFileSync(page, 'utf8'), errorsPage())
})
