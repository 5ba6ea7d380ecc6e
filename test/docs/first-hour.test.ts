/** The library's parts of docs/first-hour.md and of the README do what they say, on a host with the fake driver; and the README counts the steps. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { testHost } from '../support/host.ts'

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
const page = read('docs/first-hour.md')
const [, program = ''] = /```ts\n([^]*?)```/.exec(page) ?? []

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Runs a program that a page shows; answers what its command printed and what its port answered. */
const runProgram = async (t: Test, shown: string): Promise<unknown> => {
  const { host } = await testHost(t)
  const dir = mkdtempSync(join(tmpdir(), 'hutch-hour-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'program.mjs')
  // Machines of the fake driver share the ports of this box.
  const own = shown
    .replaceAll('3000', String(await freePort()))
    .replace(/^import .*$/m, '')
    // Nor do their processes end with them.
    .replaceAll("'python3", "'timeout 20 python3")
    .replace(/await openHost\(.*\)/, 'globalThis.host')
  writeFileSync(file, `${own}\nexport const said = { stdout, page: await page.text() }\n`)
  Object.assign(globalThis, { host })
  const { said } = (await import(pathToFileURL(file).href)) as { said: unknown }
  await t.rejects(host.sandboxes.list(), { code: 'unavailable' }, 'it closes the host')
  return said
}

t.test('the program of the page', async t => {
  t.same(await runProgram(t, program), {
    stdout: 'hello 0\nhello 1\nhello 2\n',
    page: 'for n in range(3): print("hello", n, flush=True)\n',
  })
})

t.test('the program of the README', async t => {
  const [, shown = ''] = /```ts\n([^]*?)```/.exec(read('README.md')) ?? []
  t.match(shown, '// "hello\\n"')
  t.same(await runProgram(t, shown), { stdout: 'hello\n', page: 'print("hello")\n' })
})

t.test('the steps are as many as the page and the README say', async t => {
  const steps = [...page.matchAll(/^\*\*(\d)\. /gm)].map(([, number]) => Number(number))
  t.same(steps, [1, 2, 3, 4, 5, 6])
  t.equal(page.match(/^```sh$/gm)?.length, steps.length, 'an example for each')
  t.same(
    [...program.matchAll(/\/\/ (\d)\. /g)].map(([, number]) => Number(number)),
    steps,
  )
  t.match(page, 'in six steps')
  t.match(read('README.md'), /\[six steps\]\(docs\/first-hour\.md\)/)
})
