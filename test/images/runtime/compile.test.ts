import '../../support/native.ts'
import { spawn } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { scratchEnvironment } from '../../../shared/bundle.ts'
import { compileBoot, compileDaemon } from '../../../images/runtime/compile.ts'
import { usedOfSchemas } from '../../../images/runtime/deferred-schemas.ts'
import { treeDigest } from '../../../images/runtime/digest.ts'
import { loader } from '../../../images/runtime/boot/loader.ts'
import { until } from '../../support/processes.ts'

const info = { version: '1.2.3', gitCommit: 'abc', buildTime: 'then' }

const sources = {
  'package.json': '{"type":"module"}',
  daemon: {
    'main.ts': [
      `import { Mark, seen } from '../shared/mark.ts'`,
      `import { basename } from 'node:path'`,
      `export const early = new Mark('é')`,
      `export const late = async () => (await import('./late.ts')).make()`,
      `export const facts = { seen, here: basename(__dirname), meta: import.meta.dirname, build: HUTCH_BUILD }`,
      `export { Mark }`,
    ].join('\n'),
    'late.ts': `import { Mark } from '../shared/mark.ts'\nexport const make = () => new Mark('late')`,
  },
  shared: {
    'mark.ts': `export const seen: string[] = []\nexport class Mark { name: string; constructor(name: string) { this.name = name; seen.push(name) } }`,
  },
}

t.test('pieces share what they share and load the rest when asked', async t => {
  const dir = t.testdir({ root: sources, out: {} })
  const pieces = await compileDaemon(join(dir, 'root'), 'daemon/main.ts', info)
  const out = join(dir, 'out')
  for (const [name, code] of pieces) writeFileSync(join(out, name), code)
  const { load, pieces: loaded } = loader(out)
  const main = load('main.js') as {
    early: object
    late: () => Promise<{ name: string }>
    facts: { seen: string[]; here: string; meta: unknown; build: object }
    Mark: new () => object
  }
  t.match(main.facts, { here: 'out', meta: undefined, build: info })
  const before = loaded.size
  t.ok(before < pieces.size, 'what is imported late is not loaded yet')
  const late = await main.late()
  t.equal(late.name, 'late')
  t.ok(late instanceof main.Mark, 'one class, not a copy in each piece')
  t.same(main.facts.seen, ['é', 'late'])
  t.equal(load('main.js'), main, 'a piece is run once')
})

const withShapes = {
  'package.json': '{"type":"module"}',
  daemon: {
    'main.ts': [
      `import { s, facts } from '../shared/schema.ts'`,
      `import { randomUUID } from 'node:crypto'`,
      `const Name = s.string().check(s.minLength(2, 'too short'))`,
      `facts(Name, { title: 'a name' })`,
      `const One = s.object({ name: Name, tags: s.optional(s.array(s.string())) })`,
      `const Two = s.extend(One, { kind: s.enum(['a', 'b']) })`,
      `export const ask = (value) => Two.safeParse(value)`,
      `export const describe = () => s.toJSONSchema(One)`,
      `export const names = () => Object.keys(One.shape)`,
      `export const id = () => randomUUID()`,
    ].join('\n'),
  },
  shared: {
    'schema.ts': `import * as s from 'zod/mini'\nexport { s }\nexport const facts = (shape, what) => s.globalRegistry.add(shape, what)`,
  },
}

t.test('shapes and what of Node is not needed yet are loaded when they are used', async t => {
  const dir = t.testdir({ root: withShapes, out: {} })
  const out = join(dir, 'out')
  for (const [name, code] of await compileDaemon(join(dir, 'root'), 'daemon/main.ts', info))
    writeFileSync(join(out, name), code)
  const { load, pieces: loaded } = loader(out)
  const main = load('main.js') as {
    ask: (value: unknown) => { success: boolean; error?: { issues: { message: string; path: string[] }[] } }
    describe: () => object
    names: () => string[]
    id: () => string
  }
  t.notOk(loaded.has('shapes.js'), 'declaring shapes does not load the library')
  t.match(main.ask({ name: 'me', kind: 'b' }), { success: true, data: { name: 'me', kind: 'b' } })
  t.ok(loaded.has('shapes.js'))
  t.match(main.ask({ name: 'm', kind: 'b' }).error?.issues, [{ message: 'too short', path: ['name'] }])
  t.match(main.ask({ name: 'me', kind: 'c' }).error?.issues, [{ path: ['kind'] }])
  t.match(main.describe(), { properties: { name: { title: 'a name', minLength: 2 }, tags: { type: 'array' } } })
  t.same(main.names(), ['name', 'tags'])
  t.match(main.id(), /^[0-9a-f]{8}-/)
})

t.test('a cache is used when it fits and does no harm when not', async t => {
  const dir = t.testdir({
    'main.js': '(function(exports){exports.answer=42})',
    'other.js': '(function(exports){exports.answer=43})',
  })
  const first = loader(dir)
  t.match(first.load('main.js'), { answer: 42 })
  const script = first.pieces.get('main.js')?.script
  writeFileSync(join(dir, 'main.js.cache'), script?.createCachedData() ?? '')
  writeFileSync(join(dir, 'other.js.cache'), 'not a cache')
  const second = loader(dir)
  t.match(second.load('main.js'), { answer: 42 })
  t.equal(second.pieces.get('main.js')?.rejected, false)
  t.match(second.load('other.js'), { answer: 43 })
  t.equal(second.pieces.get('other.js')?.rejected, true)
})

t.test('the same sources give the same pieces and digest', async t => {
  const dir = t.testdir({ root: sources, one: {}, two: {} })
  for (const name of ['one', 'two'])
    for (const [piece, code] of await compileDaemon(join(dir, 'root'), 'daemon/main.ts', info))
      writeFileSync(join(dir, name, piece), code)
  const digest = (name: string, facts = '') => treeDigest(join(dir, name), facts, path => path.endsWith('.cache'))
  t.equal(digest('one'), digest('two'))
  t.not(digest('one', 'x'), digest('two'), 'facts count')
  writeFileSync(join(dir, 'one/main.js.cache'), 'x')
  t.equal(digest('one'), digest('two'), 'what is left out does not count')
  mkdirSync(join(dir, 'one/more'))
  t.not(digest('one'), digest('two'), 'a directory counts')
})

const root = fileURLToPath(new URL('../../..', import.meta.url))

t.test('deferred-schemas: our sources take the library as s.name only, so that the scan of them finds all', t => {
  t.ok(usedOfSchemas(root).length > 20)
  for (const file of globSync('{daemon,shared}/**/*.ts', { cwd: root })) {
    const code = readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    if (/import \* as s\b/.test(code)) t.equal(file, 'shared/schema.ts')
    t.notMatch(code, /\}\s*=\s*s\b(?!\.)|\bs\s*\?\.|(?<![\w.])s\[/, file)
  }
  t.end()
})

t.test('plain: without deferred shapes and code caches the daemon starts and answers the same', async t => {
  const dir = t.testdir({ out: {}, scratch: {} })
  const out = join(dir, 'out')
  const pieces = await compileDaemon(root, 'daemon/main.ts', info, { deferSchemas: false })
  t.notOk(pieces.has('shapes.js'))
  for (const [name, code] of pieces) writeFileSync(join(out, name), code)
  writeFileSync(join(out, 'boot.js'), await compileBoot(root, 'images/runtime/boot/main.ts'))
  writeFileSync(join(out, 'package.json'), '{"type":"commonjs"}')
  symlinkSync(join(root, 'daemon/native/build'), join(out, 'native'))
  symlinkSync(join(root, 'node_modules'), join(out, 'node_modules'))
  const scratch = join(dir, 'scratch')
  const child = spawn(process.execPath, [join(out, 'boot.js'), '--port', '0'], {
    cwd: scratch,
    env: scratchEnvironment(scratch),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr.on('data', piece => (said += piece))
  const port = await until('the port', () => /"daemon\.listening".*"port":(\d+)/.exec(said)?.[1])
  const url = `http://127.0.0.1:${port}`
  t.match(await (await fetch(`${url}/health`)).json(), { status: 'ok', version: '1.2.3' })
  const bad = await fetch(`${url}/process`, { method: 'POST', body: JSON.stringify({ command: 7 }) })
  t.match(await bad.json(), { error: /command: must be a string/ })
  t.equal((await fetch(`${url}/swagger/openapi.json`)).status, 200)
})
