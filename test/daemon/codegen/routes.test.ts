import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { jsonLog } from '../../../shared/log.ts'
import { daemon } from '../../support/daemon.ts'
import { answerJson, standIn, type Asked } from '../../support/stand-in.ts'

const relaceAt = (url: string) => ({ RELACE_API_KEY: 'key-r', RELACE_BASE_URL: `${url}/` })
const morphAt = (url: string) => ({ MORPH_API_KEY: 'key-m', MORPH_BASE_URL: url })

/** A stand-in for both providers that answers everything with `body`. */
const provider = (t: Test, body: unknown, status = 200) =>
  standIn(t, (_asked, response) => answerJson(response, body, status))

const sent = (asked: readonly Asked[], index = 0) => JSON.parse(asked[index]?.body ?? 'null')

t.test('without a key both say how to get one', async t => {
  const { call } = await daemon(t)
  for (const answer of [
    await call('PUT', '/codegen/fastapply/a.txt', { body: { codeEdit: 'x' } }),
    await call('GET', '/codegen/reranking/.?query=x'),
  ]) {
    t.equal(answer.status, 400)
    t.match(answer.body.error, /codegen tools are not configured/)
  }
})

t.test('Relace merges an edit into a file', async t => {
  const { url, asked } = await provider(t, { mergedCode: 'new\n' })
  const { call, dir } = await daemon(t, { env: relaceAt(url), files: { 'a.txt': 'old\n' } })
  const { status, body } = await call('PUT', '/codegen/fastapply/a.txt', { body: { codeEdit: 'edit' } })
  t.equal(status, 200)
  t.match(body, {
    success: true,
    path: 'a.txt',
    originalContent: 'old\n',
    updatedContent: 'new\n',
    provider: 'relace',
    message: /./,
  })
  t.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), 'new\n')
  t.match(asked[0], { method: 'POST', path: '/v1/code/apply', headers: { authorization: 'Bearer key-r' } })
  t.same(sent(asked), { initial_code: 'old\n', edit_snippet: 'edit', model: 'relace-apply-3', stream: false })
  await call('PUT', '/codegen/fastapply/a.txt', { body: { codeEdit: 'edit', model: 'auto' } })
  await call('PUT', '/codegen/fastapply/a.txt', { body: { codeEdit: 'edit', model: 'mine' } })
  t.equal(sent(asked, 1).model, 'relace-apply-3')
  t.equal(sent(asked, 2).model, 'mine')
})

t.test('Morph merges an edit into a file that does not exist', async t => {
  const { url, asked } = await provider(t, { choices: [{ message: { content: 'made\n' } }] })
  const { call, dir } = await daemon(t, { env: morphAt(url) })
  const path = encodeURIComponent(join(dir, 'deep', 'b.txt'))
  const { status, body } = await call('PUT', `/codegen/fastapply/${path}`, { body: { codeEdit: 'edit' } })
  t.equal(status, 200)
  t.match(body, {
    path: join(dir, 'deep', 'b.txt'),
    originalContent: '',
    updatedContent: 'made\n',
    provider: 'morphllm',
  })
  t.equal(statSync(join(dir, 'deep', 'b.txt')).mode & 0o777, 0o644)
  t.match(asked[0], { path: '/chat/completions', headers: { authorization: 'Bearer key-m' } })
  t.equal(sent(asked).model, 'auto')
  t.match(sent(asked).messages, [{ role: 'user', content: /<code><\/code>\n<update>edit<\/update>/ }])
})

t.test('a provider that fails leaves the file alone', async t => {
  for (const [answer, status] of [
    [{ error: 'no' }, 500],
    [{ mergedCode: '' }, 200],
    [{ other: 1 }, 200],
    ['text', 200],
  ] as const) {
    const { url } = await provider(t, answer, status)
    const { call, dir, close } = await daemon(t, { env: relaceAt(url), files: { 'a.txt': 'old\n' } })
    const failed = await call('PUT', '/codegen/fastapply/a.txt', { body: { codeEdit: 'edit' } })
    t.equal(failed.status, 422, JSON.stringify(answer))
    t.match(failed.body.error, /provider/)
    t.notMatch(failed.body.error, /key-r/)
    t.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), 'old\n')
    await close()
  }
})

t.test('whatever a provider does is told, in bounds, and never with the key', async t => {
  const ways: Record<string, [(response: ServerResponse) => void, RegExp]> = {
    'refuses the key': [
      response => answerJson(response, { error: 'wrong key: key-r' }, 401),
      /answered 401: .*wrong key: \[REDACTED\]/,
    ],
    'is asked too often': [
      response => {
        response.setHeader('retry-after', '7')
        answerJson(response, {}, 429)
      },
      /answered 429 \(try again after 7\)/,
    ],
    'stops in the middle': [
      response => {
        response.writeHead(200, { 'content-length': '1000' })
        response.write('{"mergedCode":"x')
        setImmediate(() => response.destroy())
      },
      /provider/,
    ],
    'sends somewhere else': [response => response.writeHead(307, { location: '/other' }).end(), /redirect/],
    'never stops': [
      response => {
        const piece = Buffer.alloc(1024 * 1024, 'x')
        const more = (): void => {
          while (!response.destroyed && response.write(piece));
        }
        response.on('drain', more)
        more()
      },
      /more than 67108864 bytes/,
    ],
  }
  let answering: (response: ServerResponse) => void = response => response.end()
  const { url } = await standIn(t, (_asked, response) => answering(response))
  const lines: string[] = []
  const { call, dir } = await daemon(t, {
    env: relaceAt(url),
    files: { 'a.txt': 'old\n' },
    log: jsonLog({ level: 'debug', now: () => 0, write: line => void lines.push(line) }),
  })
  for (const [what, [answer, reason]] of Object.entries(ways)) {
    answering = answer
    const { status, body } = await call('PUT', '/codegen/fastapply/a.txt', { body: { codeEdit: 'edit' } })
    t.match({ status, error: body.error }, { status: 422, error: reason }, what)
    t.notMatch(body.error, /key-r/, what)
  }
  t.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), 'old\n')
  t.match(lines.join(''), /fastapply/)
  t.notMatch(lines.join(''), /key-r/, 'nor is it in the log')
})

t.test('what cannot be edited is refused before the provider is asked', async t => {
  const { url, asked } = await provider(t, { mergedCode: 'x' })
  const { call, dir } = await daemon(t, { env: relaceAt(url), files: { dir: {}, 'a.txt': 'old' } })
  writeFileSync(join(dir, 'binary'), Buffer.from([0xff, 0xfe, 0]))
  for (const [path, body, status] of [
    ['dir', { codeEdit: 'x' }, 400],
    ['a.txt', { codeEdit: '' }, 400],
    ['a.txt', { codeEdit: 7 }, 400],
    ['a.txt', {}, 400],
    ['a.txt', undefined, 400],
    ['a.txt', { codeEdit: 'x', model: {} }, 400],
    ['a%00b', { codeEdit: 'x' }, 400],
    ['a.txt/below', { codeEdit: 'x' }, 422],
    ['binary', { codeEdit: 'x' }, 422],
  ] as const)
    t.equal(
      (await call('PUT', `/codegen/fastapply/${path}`, { body })).status,
      status,
      `${path} ${JSON.stringify(body)}`,
    )
  t.same(asked, [])
})

const tree = {
  'one.ts': 'one',
  'two.js': 'two',
  '.hidden': 'hidden',
  node_modules: { 'x.js': 'module', deep: { 'y.js': 'module' } },
  src: { 'three.ts': 'three' },
}

t.test('Relace ranks files; those below the threshold are dropped, the best come first', async t => {
  const { url, asked } = await standIn(t, ({ body }, response) => {
    const { codebase } = JSON.parse(body) as { codebase: { filename: string }[] }
    const score = (name: string) => (name.endsWith('one.ts') ? 0.6 : name.endsWith('three.ts') ? 0.9 : 0.2)
    answerJson(response, { results: codebase.map(({ filename }) => ({ filename, score: score(filename) })) })
  })
  const { call, dir } = await daemon(t, { env: relaceAt(url), files: tree })
  const { status, body } = await call('GET', '/codegen/reranking/?query=what')
  t.equal(status, 200)
  t.same(body.files, [
    { path: join(dir, 'src/three.ts'), content: 'three', score: 0.9 },
    { path: join(dir, 'one.ts'), content: 'one', score: 0.6 },
  ])
  t.match(sent(asked), { query: 'what', token_limit: 30000 })
  t.same(
    sent(asked).codebase.map(({ filename }: { filename: string }) => filename.slice(dir.length + 1)),
    ['one.ts', 'two.js', 'src/three.ts'],
  )
  const all = await call('GET', '/codegen/reranking/?query=what&scoreThreshold=0.1&tokenLimit=7&filePattern=%5C.js%24')
  t.same(
    all.body.files.map(({ path }: { path: string }) => path),
    [join(dir, 'two.js')],
  )
  t.equal(sent(asked, 1).token_limit, 7)
  await call('GET', '/codegen/reranking/?query=what&scoreThreshold=0&tokenLimit=0')
  t.equal(sent(asked, 2).token_limit, 30_000)
})

t.test('of very many files those that match the pattern are all sent', async t => {
  const { url, asked } = await provider(t, { results: [] })
  const files = Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`${index}.txt`, 'x']))
  const { call } = await daemon(t, { env: relaceAt(url), files })
  t.equal((await call('GET', '/codegen/reranking/?query=x&filePattern=%5E%5Cd*7%5C.txt')).status, 200)
  t.equal(sent(asked).codebase.length, 120)
})

t.test('Morph ranks by position', async t => {
  const results = [
    { index: 1, relevance_score: 0.8 },
    { index: 99, relevance_score: 1 },
  ]
  const { url, asked } = await provider(t, { results })
  const { call, dir } = await daemon(t, { env: morphAt(url), files: { a: 'A', b: 'B' } })
  const { body } = await call('GET', '/codegen/reranking/.?query=x')
  t.same(body.files, [{ path: join(dir, 'b'), content: 'B', score: 0.8 }])
  t.equal(asked[0]?.path, '/rerank')
  t.same(sent(asked), { model: 'morph-rerank-v3', query: 'x', documents: ['A', 'B'] })
})

t.test('an empty directory has no files and asks nobody', async t => {
  const { url, asked } = await provider(t, {})
  const { call, dir } = await daemon(t, { env: relaceAt(url) })
  mkdirSync(join(dir, 'empty'))
  const { status, body } = await call('GET', '/codegen/reranking/empty?query=x')
  t.equal(status, 200)
  t.match(body, { success: true, files: [], message: /^No files found/ })
  t.same(asked, [])
})

t.test('questions that make no sense are refused', async t => {
  const { url } = await provider(t, {})
  const { call } = await daemon(t, { env: relaceAt(url), files: { a: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' } })
  for (const [target, status] of [
    ['/codegen/reranking/', 400],
    ['/codegen/reranking/?query=', 400],
    ['/codegen/reranking/a?query=x', 400],
    ['/codegen/reranking/none?query=x', 400],
    ['/codegen/reranking/?query=x&scoreThreshold=abc', 400],
    ['/codegen/reranking/?query=x&scoreThreshold=7', 400],
    ['/codegen/reranking/?query=x&tokenLimit=1e9', 400],
    ['/codegen/reranking/?query=x&tokenLimit=-1', 400],
    ['/codegen/reranking/?query=x&filePattern=(', 422],
    ['/codegen/reranking/%00?query=x', 400],
    ['/codegen/reranking/?query=%00', 400],
    ['/codegen/reranking/?query=x', 422],
  ] as const)
    t.equal((await call('GET', target)).status, status, target)
})
