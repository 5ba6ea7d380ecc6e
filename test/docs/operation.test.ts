/** docs/operation.md names every variable of the server, docs/install.md every command; what they say of the package is so. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { commands } from '../../control/cli/commands.ts'
import { serverNames } from '../../control/base/config/names.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The code words in the first column of tables below a heading. */
const firstColumn = (page: string, heading: string): string[] => {
  const section = (page.split(`\n## ${heading}\n`)[1] ?? '').split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter(line => line.startsWith('| `'))
  return rows.flatMap(row => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(match => match[1] as string))
}

t.test('every variable is explained, and none that is not read', async t => {
  t.same(firstColumn(read('docs/operation.md'), 'Configuration').sort(), [...serverNames, 'HUTCH_CA_FILE'].sort())
})

t.test('every command is listed, and none that there is not', async t => {
  const listed = firstColumn(read('docs/install.md'), 'The package').filter(words => /^hutch [a-z]/.test(words))
  t.same(new Set(listed.map(words => words.split(' ')[1])), new Set(commands.map(({ name }) => name)))
})

t.test('what the package needs is what it asks for', async t => {
  const { needed } = createRequire(import.meta.url)('../../images/package/check-platform.cjs') as {
    needed: { node: number; glibc: number[] }
  }
  t.match(read('docs/install.md'), `Node ${needed.node} or newer and glibc ${needed.glibc.join('.')} or newer`)
})
