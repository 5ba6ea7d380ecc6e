/** The example of docs/client.md is the program beside this file, and prints what the page says. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { server } from '../support/server.ts'
import { coverageEnvironment } from '../support/coverage.ts'
import { matches } from './page.ts'
import { withoutMachines } from './pages.ts'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const page = read('../../docs/client.md')
const program = fileURLToPath(new URL('client-example.ts', import.meta.url))
const [, example, output] = /```ts\n([^]*?)```\n\nIt prints:\n\n```\n([^]*?)\n```/.exec(page) ?? []

t.test('the page shows the program', async t => {
  t.equal(example, read('client-example.ts').replace("'../../control/index.ts'", "'hutch'"))
})

const why = withoutMachines()
t.test('the program prints what the page says', { skip: why ?? false }, async t => {
  const { url, key } = await server(t)
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: { ...coverageEnvironment, H: url, KEY: key },
    timeout: 60_000,
  })
  if (output === undefined || !matches(output, stdout)) t.equal(stdout, output)
  else t.pass('it does')
})
