/** A host that does not listen loads nothing of what listens. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'

const program = new URL('../../programs/open-host.ts', import.meta.url).pathname
const run = promisify(execFile)

interface Loaded {
  readonly imported: string[]
  readonly opened: string[]
  readonly all: string[]
}

const loadedBy = async (dataDir: string, ...more: string[]): Promise<Loaded> => {
  const { stdout } = await run(process.execPath, [program, dataDir, ...more], { maxBuffer: 1 << 24 })
  return JSON.parse(stdout) as Loaded
}

const served = (urls: readonly string[]): string[] =>
  urls.filter(url => url.includes('/control/server/')).map(url => url.slice(url.indexOf('control/')))

t.test('openHost loads nothing from server/ before listen()', async t => {
  const { imported, opened } = await loadedBy(t.testdir())
  t.ok(
    opened.some(url => url.endsWith('/control/host/host.ts')),
    'the engine is loaded by openHost',
  )
  t.same(served(opened), [])
  // The routes that `createClient` calls by are declared beside what answers them.
  const declared = /^control\/server\/(api|mcp|web\/html)\//
  t.same(
    served(imported).filter(file => !declared.test(file)),
    [],
    'the package itself brings declarations only',
  )
})

t.test('listen() loads it', async t => {
  const { all } = await loadedBy(t.testdir(), 'listen')
  t.ok(served(all).includes('control/server/front.ts'))
})
