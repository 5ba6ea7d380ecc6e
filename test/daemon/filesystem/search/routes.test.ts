import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { daemon } from '../../../support/daemon.ts'

const tree = {
  'main.go': '',
  'README.md': '',
  'config.json': '',
  src: { 'app.go': '', 'app_test.go': '', utils: { 'helper.go': '' } },
  docs: { 'guide.md': '' },
  '.hidden': { 'secret.txt': '' },
  node_modules: { 'package.json': '' },
}

t.test('find', async t => {
  const { call, dir } = await daemon(t, { files: tree })
  const find = async (query: string, path = dir) =>
    (await call('GET', `/filesystem-find${encodeURIComponent(path)}?${query}`)).body
  const go = await find('patterns=*.go')
  t.same(go, {
    matches: ['main.go', 'src/app.go', 'src/app_test.go', 'src/utils/helper.go'].map(path => ({ path, type: 'file' })),
    total: 4,
  })
  t.equal((await find('patterns=*.md')).total, 2)
  t.same(
    (await find('type=directory')).matches.map((one: { path: string }) => one.path),
    ['.', 'docs', 'src', 'src/utils'],
  )
  t.equal((await find('type=directory&patterns=*.go')).total, 4, 'patterns filter files only')
  const two = await find('maxResults=2')
  t.equal(two.total, 2)
  t.equal(two.matches.length, 2)
  t.equal((await find('patterns=*.md,*.json&excludeDirs=docs')).total, 3, 'node_modules becomes visible')
  t.equal((await find('excludeHidden=false&excludeDirs=node_modules&patterns=*.txt')).total, 1)
  t.same(await find('patterns=*.txt'), { matches: [], total: 0 })
  t.equal((await find('patterns=*.go, *.md')).total, 6)
  t.equal((await find('patterns=*.go', join(dir, 'src/utils'))).total, 1)
  t.equal((await find('patterns=*.go', join(dir, 'src'))).total, 3)
  t.equal((await find('patterns=[')).total, 0, 'a malformed pattern')
  t.equal((await find('excludeDirs=')).total, 7, 'an empty list is the usual list')
  t.equal((await find('patterns=*.json', join(dir, 'node_modules'))).total, 1, 'the start is never excluded')
  t.equal((await find('', join(dir, '.hidden'))).total, 1)
  t.same((await find('patterns=*.go', join(dir, 'main.go'))).matches, [{ path: '.', type: 'file' }])
})

t.test('find: limits and errors', async t => {
  const { call, dir } = await daemon(t)
  for (let index = 0; index < 30; index++) writeFileSync(join(dir, `f${index}`), '')
  symlinkSync('.', join(dir, 'link'))
  const find = (query: string) => call('GET', `/filesystem-find/?${query}`)
  t.equal((await find('')).body.total, 20)
  t.equal((await find('maxResults=0')).body.total, 31, 'all, and a link is a file')
  t.equal((await find('maxResults=5000')).body.total, 31)
  for (const bad of ['-1', 'x', '1.5'])
    t.match(await find(`maxResults=${bad}`), { status: 400, body: { error: /invalid maxResults/ } }, bad)
  t.equal((await find('type=invalid')).status, 400)
  for (const path of ['nope', 'nope/deeper', '~'])
    t.match(await call('GET', `/filesystem-find/${path}`), { status: 404, body: { error: /ENOENT/ } }, `no ${path}`)
  symlinkSync('loop', join(dir, 'loop'))
  symlinkSync('nowhere', join(dir, 'dangling'))
  t.equal((await call('GET', '/filesystem-find/loop')).status, 422)
  t.equal((await call('GET', '/filesystem-find/dangling')).status, 404)
})

t.test('content search', async t => {
  const { call, dir } = await daemon(t, {
    files: {
      'a.txt': 'one\ntwo Needle here needle\r\nthree\n',
      'b.md': 'needle',
      'c.bin': Buffer.from([0, 1, 255, 10, 110, 101, 101, 100, 108, 101, 0]),
      'u.txt': 'äö NÄDEL\n',
      '.h': { x: 'hidden needle' },
      node_modules: { y: 'needle' },
      empty: '',
    },
  })
  const search = async (query: string, path = `/${encodeURIComponent(dir)}`) =>
    (await call('GET', `/filesystem-content-search${path}?${query}`)).body
  const sorted = (body: { matches: { path: string }[] }) => [...body.matches].sort((a, b) => (a.path < b.path ? -1 : 1))
  const all = await search('query=needle')
  t.equal(all.query, 'needle')
  t.equal(all.total, 4)
  t.match(sorted(all), [
    { path: '.h/x', line: 1, column: 8, text: 'hidden needle' },
    { path: 'a.txt', line: 2, column: 5, text: 'two Needle here needle' },
    { path: 'b.md', line: 1, column: 1, text: 'needle' },
    { path: 'c.bin', line: 2, column: 1 },
  ])
  t.match(sorted(await search('query=needle&caseSensitive=true'))[1], { path: 'a.txt', column: 17 })
  t.equal((await search('query=Needle&caseSensitive=true')).total, 1)
  t.equal((await search('query=needle&filePattern=*.txt')).total, 1)
  t.equal((await search('query=needle&excludeDirs=.h')).total, 4, 'node_modules becomes visible')
  t.equal((await search('query=needle&maxResults=1')).total, 1)
  t.equal((await search('query=needle&maxResults=0')).total, 4)
  t.equal((await search('query=needle&contextLines=3')).total, 4, 'ignored')
  t.match((await search(`query=${encodeURIComponent('nädel')}`)).matches, [{ path: 'u.txt', line: 1, column: 6 }])
  t.equal((await search(`query=${encodeURIComponent('n.edle')}`)).total, 0, 'no regular expression')
  t.same((await search('query=nothing')).matches, [])
  t.equal((await search('query=needle', '/')).total, 4, 'the working directory')
  t.equal((await search('query=needle', '/.')).total, 4)
  t.equal((await search('query=needle', '%2F')).total, 4, 'exactly /')
})

t.test('content search: large files, many hits, what cannot be read', async t => {
  const { call, dir } = await daemon(t)
  const lines = Array.from({ length: 200_000 }, (_, index) => `line number ${index}`)
  writeFileSync(join(dir, 'big'), lines.join('\n'))
  writeFileSync(join(dir, 'long'), `${'x'.repeat(3_000_000)}needle${'y'.repeat(100)}\nneedle`)
  execFileSync('mkfifo', [join(dir, 'fifo')])
  symlinkSync('big', join(dir, 'link'))
  mkdirSync(join(dir, 'd'))
  const search = async (query: string) => (await call('GET', `/filesystem-content-search/?${query}`)).body
  const hit = (await search('query=number%20199999')).matches
  t.match(hit, [{ path: 'big', line: 200_000, column: 6, text: 'line number 199999' }])
  t.equal((await search('query=LINE&maxResults=0')).total, 200_000)
  t.equal((await search('query=line')).total, 100)
  const long = (await search('query=needle&maxResults=0')).matches
  t.match(long, [
    { line: 1, column: 3_000_001 },
    { line: 2, column: 1 },
  ])
  t.equal(long[0].text.length, 65_536)
})

t.test('content search: the text of a long line ends with a whole character', async t => {
  const { call, dir } = await daemon(t)
  const lines: Record<string, string> = {
    two: 'é'.repeat(40_000),
    three: '€'.repeat(30_000),
    four: '😀'.repeat(20_000),
    exact: `${'é'.repeat(32_764)}needle`,
    longest: `x${'€'.repeat(3_000_000)}needle`,
  }
  for (const [name, text] of Object.entries(lines))
    for (const before of ['needle', 'needlex', 'needlexx', 'needlexxx'])
      writeFileSync(join(dir, `${name}-${before}`), name === 'exact' ? text : before + text)
  for (const query of ['query=needle', 'query=needle&caseSensitive=true']) {
    const { matches } = (await call('GET', `/filesystem-content-search/?${query}`)).body
    t.ok(matches.length >= 20)
    for (const { path, text } of matches as { path: string; text: string }[]) {
      t.notMatch(text, /\ufffd/, path)
      const bytes = Buffer.byteLength(text)
      t.ok(bytes <= 65_536 && bytes > 65_532 - (path.startsWith('exact') ? 2 : 0), `${path}: ${bytes}`)
    }
  }
})

t.test('content search: nothing of one file is found in the next', async t => {
  const { call, dir } = await daemon(t)
  for (let index = 0; index < 60; index++)
    writeFileSync(join(dir, `f${index}`), index % 2 ? `${'a'.repeat(index)}needle` : 'a'.repeat(index))
  writeFileSync(join(dir, 'long'), `${'a'.repeat(2_500_000)}\nneedle\n${'a'.repeat(9_000_000)}needle`)
  const { matches, total } = (await call('GET', '/filesystem-content-search/?query=needle&maxResults=0')).body
  t.equal(total, 32)
  for (const { path, line, column } of matches)
    if (path !== 'long') t.same([line, column], [1, Number(path.slice(1)) + 1], path)
    else t.ok(line === 2 ? column === 1 : line === 3)
})

t.test('find: a tree that takes many steps is walked in order, and a search of it finds each file once', async t => {
  const { call, dir } = await daemon(t)
  const made: string[] = []
  for (const top of ['b', 'a', 'c'])
    for (let index = 0; index < 7; index++) {
      mkdirSync(join(dir, top, `d${index}`, 'deep'), { recursive: true })
      for (let file = 0; file < 70; file++) made.push(join(top, `d${index}`, file % 2 ? 'deep' : '', `f${file}`))
    }
  for (const path of made) writeFileSync(join(dir, path), `the needle of ${path}`)
  const found = (await call('GET', '/filesystem-find/?maxResults=0')).body.matches.map(
    (one: { path: string }) => one.path,
  )
  // Depth first: a directory's entries stand where its own name does.
  const inOrder = (path: string) => path.replaceAll('/', '\0')
  t.same(
    found,
    made.toSorted((one, other) => (inOrder(one) < inOrder(other) ? -1 : 1)),
  )
  const lines = (await call('GET', '/filesystem-content-search/?query=NEEDLE&maxResults=0')).body.matches
  t.same(
    lines.map((one: { path: string; text: string }) => [one.path, one.text]).toSorted(),
    made.map(path => [path, `the needle of ${path}`]).toSorted(),
  )
  t.equal((await call('GET', '/filesystem-content-search/?query=needle&maxResults=301')).body.total, 301)
})

t.test('content search: case of characters beyond ASCII', async t => {
  const { call } = await daemon(t, {
    files: { greek: 'x ΟΔΟΣ\n', german: 'die STRASSE, die Straße\n', cyrillic: 'при́вет ПРИВЕТ' },
  })
  const search = async (query: string, more = '') =>
    (await call('GET', `/filesystem-content-search/?query=${encodeURIComponent(query)}${more}`)).body.matches
  t.match(await search('οδος'), [{ path: 'greek', column: 3 }], 'a final sigma is a sigma')
  t.match(await search('straße'), [{ path: 'german', column: 18 }], 'no character becomes two')
  t.match(await search('приВЕТ'), [{ path: 'cyrillic', column: 16 }])
  t.same(await search('приВЕТ', '&caseSensitive=true'), [])
})

t.test('find says when it cannot go on, search passes over it', async t => {
  const { call, dir } = await daemon(t)
  // Deeper than a path may be long, which only relative steps can make.
  const make = 'for i in $(seq 25); do mkdir $(printf "d%.0s" {1..200}); cd d*; done; : > file'
  execFileSync('bash', ['-c', make], { cwd: dir })
  t.match(await call('GET', '/filesystem-find/'), { status: 500, body: { error: /ENAMETOOLONG/ } })
  t.equal((await call('GET', '/filesystem-search/.?query=d')).status, 200)
  t.match((await call('GET', '/filesystem-content-search/?query=x')).body, { total: 0 })
  t.equal((await call('DELETE', `/filesystem/${'d'.repeat(200)}?recursive=true`)).status, 200)
})

t.test('content search: errors', async t => {
  const { call } = await daemon(t, { files: { f: 'x' } })
  t.equal((await call('GET', '/filesystem-content-search/')).status, 400)
  t.match(await call('GET', '/filesystem-content-search/f?query=x'), { status: 400, body: { error: /does not exist/ } })
  t.match(await call('GET', '/filesystem-content-search/nope?query=x'), {
    status: 400,
    body: { error: /does not exist/ },
  })
  t.equal((await call('GET', '/filesystem-content-search/f/x?query=x')).status, 422)
  t.equal((await call('GET', '/filesystem-content-search/?query=x&maxResults=-5')).status, 400)
})

t.test('fuzzy search', async t => {
  const { call } = await daemon(t, { files: { ...tree, 'Résumé.txt': '' } })
  const search = async (path: string, query: string) => (await call('GET', `/filesystem-search/${path}?${query}`)).body
  const first = async (query: string) => (await search('.', `query=${encodeURIComponent(query)}`)).matches[0]?.path
  t.equal(await first('helper'), 'src/utils/helper.go')
  t.equal(await first('sapp'), 'src/app.go')
  t.equal(await first('apptest'), 'src/app_test.go')
  t.equal(await first('RESUME'), 'Résumé.txt')
  t.equal(await first('utils'), 'src/utils')
  t.equal(await first('secret'), undefined, 'hidden')
  t.equal(await first('zzz'), undefined)
  const many = await search('.', 'query=o')
  const scores = many.matches.map((match: { score: number }) => match.score)
  t.same(
    scores,
    [...scores].sort((a, b) => b - a),
  )
  t.equal(many.total, many.matches.length)
  t.match((await search('.', 'query=docs')).matches[0], { path: 'docs', type: 'directory' })
  t.equal((await search('.', 'query=o&maxResults=1')).total, 1)
  t.equal((await search('.', 'query=secret&excludeHidden=false')).total, 1)
  t.equal((await search('src', 'query=app')).matches[0].path, 'app.go')
  t.equal((await search('src', '')).total, 4, 'without a query everything')
  t.same(await search('nope', 'query=x'), { matches: [], total: 0 })
  for (const path of ['', '.', '%2F']) t.equal((await call('GET', `/filesystem-search/${path}`)).status, 400, path)
  t.equal((await call('GET', '/filesystem-search/src?maxResults=x')).status, 400)
})
