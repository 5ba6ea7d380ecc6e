/** Section 1.7: find, content search, fuzzy search. */
import type { Test } from 'tap'
import { ask, escaped, fresh, type Target } from './target.ts'

const tree = {
  'main.go': 'package main // Needle\n',
  'README.md': '# title\nneedle here\n',
  'config.json': '{}',
  'src/app.go': 'package src\n\n  needle twice needle\n',
  'src/app_test.go': '',
  'src/utils/helper.go': '',
  'docs/guide.md': '',
  '.hidden/secret.txt': 'needle',
  'node_modules/pkg/index.md': 'needle',
  'node_modules/pkg/package.json': '{}',
}

export const find = async (t: Test, target: Target): Promise<void> => {
  const dir = `${target.scratch}/${fresh('find')}`
  t.equal((await ask(target, 'PUT', `/filesystem/tree/${dir}`, { body: { files: tree } })).status, 200)
  const finds = (query: string) => ask(target, 'GET', `${escaped('filesystem-find', dir)}?${query}`)
  const greps = (query: string) => ask(target, 'GET', `${escaped('filesystem-content-search', dir)}?${query}`)

  await t.test('find by pattern, kind and number', async t => {
    const cases: readonly (readonly [string, number])[] = [
      ['patterns=*.go', 4],
      ['patterns=*.md', 2],
      ['type=directory', 4],
      ['patterns=*.go,*.md', 6],
      ['patterns=*.md,*.json&excludeDirs=docs', 4],
      ['patterns=*.txt&excludeHidden=false&excludeDirs=node_modules', 1],
      ['patterns=*.txt', 0],
      ['patterns=*.txt&excludeDirs=', 0],
      ['maxResults=2', 2],
      ['maxResults=0&type=file', 7],
    ]
    for (const [query, total] of cases) {
      const { status, body } = await finds(query)
      t.match({ status, total: body.total, length: body.matches.length }, { status: 200, total, length: total }, query)
    }
    const { body } = await finds('patterns=*.go')
    t.same(body.matches, [
      { path: 'main.go', type: 'file' },
      { path: 'src/app.go', type: 'file' },
      { path: 'src/app_test.go', type: 'file' },
      { path: 'src/utils/helper.go', type: 'file' },
    ])
    const directories = (await finds('type=directory')).body.matches.map((match: { path: string }) => match.path)
    t.same(directories, ['.', 'docs', 'src', 'src/utils'])
    t.match((await ask(target, 'GET', `${escaped('filesystem-find', `${dir}/src`)}?patterns=app*`)).body, { total: 2 })
  })

  await t.test('find refuses what it does not know', async t => {
    t.equal((await finds('type=invalid')).status, 400)
    for (const most of ['-1', 'many', '1.5'])
      t.match(await finds(`maxResults=${most}`), { status: 400, body: { error: /invalid maxResults/ } }, most)
    t.equal((await ask(target, 'GET', escaped('filesystem-find', `${dir}/none`))).status, 404)
  })

  await t.test('content search finds text, not patterns', async t => {
    const { status, body } = await greps('query=needle')
    t.equal(status, 200)
    t.equal(body.query, 'needle')
    const found = body.matches.map((match: { path: string; line: number; column: number; text: string }) => [
      match.path.replace(`${dir}/`, ''),
      match.line,
      match.column,
      match.text,
    ])
    t.same(
      found.toSorted((a: [string], b: [string]) => (a[0] < b[0] ? -1 : 1)),
      [
        ['.hidden/secret.txt', 1, 1, 'needle'],
        ['README.md', 2, 1, 'needle here'],
        ['main.go', 1, 17, 'package main // Needle'],
        ['src/app.go', 3, 3, '  needle twice needle'],
      ],
    )
    t.equal((await greps('query=needle&caseSensitive=true')).body.total, 3)
    t.equal((await greps('query=needle&filePattern=*.go&contextLines=2')).body.total, 2)
    t.equal((await greps('query=n.edle')).body.total, 0)
    t.equal((await greps('query=needle&maxResults=1')).body.total, 1)
    t.equal((await greps('query=needle&maxResults=0')).body.total, 4)
  })

  await t.test('content search refuses', async t => {
    t.equal((await greps('')).status, 400)
    t.match(await greps('query=x&maxResults=-1'), { status: 400, body: { error: /invalid maxResults/ } })
    const file = escaped('filesystem-content-search', `${dir}/main.go`)
    t.match(await ask(target, 'GET', `${file}?query=x`), { status: 400, body: { error: /does not exist/ } })
  })

  await t.test('fuzzy search answers well-formed bodies, with and without a query', async t => {
    const at = escaped('filesystem-search', dir)
    t.match(await ask(target, 'GET', at), { status: 200, body: { matches: Array, total: Number } })
    const { body } = await ask(target, 'GET', `${at}?query=helper`)
    t.match(body.matches[0], { path: /src\/utils\/helper\.go$/, score: Number, type: 'file' })
    t.match(await ask(target, 'GET', escaped('filesystem-search', `${dir}/none`)), {
      status: 200,
      body: { matches: [], total: 0 },
    })
  })
}
