/** The plain functions that agents' tools are made of. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { directoryInside, isSubsequence, searchFiles } from '../../../daemon/codegen/file-search.ts'
import { grep, matchesGlob } from '../../../daemon/codegen/grep.ts'
import { readRange } from '../../../daemon/codegen/read-range.ts'
import { walk } from '../../../daemon/codegen/walk.ts'
import { createFilePort } from '../../../daemon/filesystem/native-port.ts'

const port = createFilePort(undefined)
const signal = new AbortController().signal

t.test('walks shallow files first, follows no link, passes over what vanishes', async t => {
  const dir = t.testdir({ b: { deep: { d: '' }, c: '' }, a: '', loop: t.fixture('symlink', '.') })
  const paths: string[] = []
  for await (const path of walk(port, dir)) paths.push(path.slice(dir.length + 1))
  t.same(paths, ['a', 'b/c', 'b/deep/d'])
  await t.rejects(walk(port, join(dir, 'none')).next(), { code: 'ENOENT' })
  await t.rejects(walk(port, dir, { signal: AbortSignal.abort() }).next())
})

t.test('a file is found by letters of its name, in order, in any case', async t => {
  t.ok(isSubsequence('mts', 'Main.TS'))
  t.notOk(isSubsequence('stm', 'main.ts'))
  t.ok(isSubsequence('', 'anything'))
  const many = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`match${index}.txt`, '']))
  const dir = t.testdir({ many, 'Main.ts': '', node_modules: { 'main.ts': '' }, main: {} })
  t.same(await searchFiles({ port, workdir: dir }, { query: 'mn.ts' }, signal), [
    join(dir, 'Main.ts'),
    join(dir, 'node_modules/main.ts'),
  ])
  t.equal((await searchFiles({ port, workdir: dir }, { query: 'match', directory: 'many' }, signal)).length, 10)
})

t.test('a search stays inside the working directory', async t => {
  const dir = t.testdir({ work: { in: {}, file: '' }, workshop: {} })
  const work = join(dir, 'work')
  symlinkSync(dir, join(work, 'out'))
  t.equal(await directoryInside(port, work, 'in'), join(work, 'in'))
  t.equal(await directoryInside(port, work, '.'), work)
  for (const directory of ['..', 'out', '/', 'file', 'none', 'in/../..', '../workshop', 'a\0b'])
    await t.rejects(directoryInside(port, work, directory), { code: 'invalid_argument' }, JSON.stringify(directory))
})

t.test('grep answers as ripgrep does', async t => {
  const dir = t.testdir({
    'a.ts': 'one\ntwö two\n',
    'b.js': 'TWO',
    '.hidden': 'two',
    node_modules: { 'c.js': 'two' },
    'binary.bin': 'two\0',
  })
  const lines = async (request: Parameters<typeof grep>[1]) =>
    (await grep({ port, root: dir }, request, signal))
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
  t.same(await lines({ query: 'two', caseSensitive: true }), [
    { type: 'begin', data: { path: { text: 'a.ts' } } },
    {
      type: 'match',
      data: {
        path: { text: 'a.ts' },
        lines: { text: 'twö two\n' },
        line_number: 2,
        absolute_offset: 4,
        submatches: [{ match: { text: 'two' }, start: 5, end: 8 }],
      },
    },
    { type: 'end', data: { path: { text: 'a.ts' }, binary_offset: null } },
  ])
  const paths = async (request: Parameters<typeof grep>[1]) =>
    (await lines(request)).filter(({ type }) => type === 'begin').map(({ data }) => data.path.text)
  t.same(await paths({ query: 'two' }), ['a.ts', 'b.js'])
  t.same(await paths({ query: 'two', includePattern: '*.js' }), ['b.js'])
  t.same(await paths({ query: 'two', excludePattern: '*.js' }), ['a.ts'])
  await t.rejects(grep({ port, root: dir }, { query: 'nowhere' }, signal), { code: 'not_found' })
  await t.rejects(grep({ port, root: dir }, { query: '(' }, signal), { code: 'unprocessable' })
})

t.test('a line full of places is counted once through, and an answer ends', async t => {
  const dir = t.testdir({ 'a.min.js': `ö${'e'.repeat(800_000)}`, 'b.js': 'e\n'.repeat(100_000), 'c.js': 'e' })
  const lines = (await grep({ port, root: dir }, { query: 'e' }, signal)).trimEnd().split('\n')
  t.match(JSON.parse(lines[1] as string), {
    data: {
      submatches: [
        { start: 2, end: 3 },
        { start: 3, end: 4 },
      ],
    },
  })
  t.equal(lines.filter(line => line.includes('begin')).length, 1)
  const many = await grep({ port, root: dir }, { query: 'e', includePattern: '[bc].js' }, signal)
  t.ok(many.length < 5e6, `${many.length}`)
  t.match(JSON.parse(many.split('\n')[9] as string), { data: { line_number: 9, absolute_offset: 16 } })
})

t.test('a glob without a slash is about the name, one with a slash about the path', async t => {
  t.ok(matchesGlob('src/a.ts', '*.ts'))
  t.ok(matchesGlob('src/a.ts', 'src/*.ts'))
  t.ok(matchesGlob('pkg/src/a.ts', 'src/*.ts'))
  t.notOk(matchesGlob('pkg/src/a.ts', '/src/*.ts'))
  t.ok(matchesGlob('src/x/a.ts', 'src/**'))
  t.notOk(matchesGlob('src/a.ts', '*.js'))
  t.ok(matchesGlob('a.tsx', '*.{ts,tsx}'))
})

t.test('a range of lines, both ends included', async t => {
  const dir = t.testdir({ f: 'a\nb\nc\n', empty: '' })
  const read = (start: number, end: number, name = 'f') => readRange(port, join(dir, name), start, end)
  t.equal(await read(1, 3), 'a\nb\nc')
  t.equal(await read(2, 2), 'b')
  for (const [start, end] of [
    [0, 1],
    [-1, 1],
    [1, 4],
    [3, 2],
    [4, 3],
  ] as const)
    await t.rejects(read(start, end), { code: 'invalid_argument' }, `${start}-${end}`)
  await t.rejects(read(1, 1, 'empty'), { code: 'invalid_argument' })
  t.same([await read(3, 3), await read(1, 1)], ['c', 'a'])
  await t.rejects(read(1, 1, 'none'), { code: 'path_not_found' })
  mkdirSync(join(dir, 'd'))
  writeFileSync(join(dir, 'latin'), Buffer.from([0xe9]))
  await t.rejects(read(1, 1, 'd'), { code: 'invalid_argument' })
  await t.rejects(read(1, 1, 'latin'), { code: 'unprocessable' })
})

t.test('matches of very many files come each with its own file', async t => {
  const dir = t.testdir(
    Object.fromEntries(Array.from({ length: 700 }, (_, index) => [`f${index}`, `x\nline ${index}.\n`])),
  )
  const lines = (await grep({ port, root: dir }, { query: 'line \\d*5\\.' }, signal)).trim().split('\n')
  const matched = lines.map(line => JSON.parse(line)).filter(({ type }) => type === 'match')
  t.equal(matched.length, 70)
  for (const { data } of matched) t.equal(data.lines.text, `line ${data.path.text.slice(1)}.\n`)
})
