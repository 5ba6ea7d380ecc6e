import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { daemon, type Options } from '../../support/daemon.ts'
import { answerJson, standIn } from '../../support/stand-in.ts'

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Calls tools as an agent does. */
const agent = async (t: Test, options: Options = {}) => {
  const made = await daemon(t, options)
  const ask = async (method: string, params: object) => {
    const { body } = await made.call('POST', '/mcp', { headers, body: { jsonrpc: '2.0', id: 1, method, params } })
    return body
  }
  const tool = async (name: string, args: object) => {
    const { result } = await ask('tools/call', { name, arguments: args })
    return result.isError ? { error: result.content[0].text as string } : result.structuredContent
  }
  const names = async (): Promise<string[]> =>
    (await ask('tools/list', {})).result.tools.map(({ name }: { name: string }) => name)
  return { ...made, tool, names }
}

/** A provider that merges by appending, and fails for what says so. */
const appending = (t: Test) =>
  standIn(t, ({ body }, response) => {
    const { initial_code: code, edit_snippet: edit, codebase } = JSON.parse(body)
    if (codebase)
      return answerJson(response, {
        results: codebase.map(({ filename }: { filename: string }) => ({ filename, score: 1 })),
      })
    return edit.includes('fail') ? answerJson(response, {}, 500) : answerJson(response, { mergedCode: code + edit })
  })

const files = {
  'readme.md': 'How to parse configuration\n',
  src: { 'parseConfig.ts': 'export const parseConfig = () => 1\n', 'other.ts': 'two\nthree\n' },
}

t.test('seven tools are always there, two more with a provider', async t => {
  const always = [
    'codegenCodebaseSearch',
    'codegenFileSearch',
    'codegenGrepSearch',
    'codegenListDir',
    'codegenParallelApply',
    'codegenReadFileRange',
    'codegenReapply',
  ]
  const plain = await agent(t)
  t.same(
    (await plain.names()).filter(name => name.startsWith('codegen')),
    always,
  )
  await plain.close()
  const { names } = await agent(t, { env: { RELACE_API_KEY: 'k' } })
  t.same(
    (await names()).filter(name => name.startsWith('codegen')),
    [...always, 'codegenEditFile', 'codegenRerank'].toSorted(),
  )
})

t.test('searching', async t => {
  const { tool, dir } = await agent(t, { files })
  t.same(await tool('codegenFileSearch', { query: 'PCfg', directory: null }), {
    success: true,
    matches: [join(dir, 'src/parseConfig.ts')],
    query: 'PCfg',
  })
  t.match(await tool('codegenFileSearch', { query: 'x', directory: '../..' }), {
    error: /inside the working directory/,
  })
  const found = await tool('codegenCodebaseSearch', {
    query: 'where is the config parsed? parseConfig',
    targetDirectories: null,
  })
  t.equal(found.results[0], `${join(dir, 'src/parseConfig.ts')}:1: export const parseConfig = () => 1`)
  t.same((await tool('codegenCodebaseSearch', { query: 'zebra', targetDirectories: ['src'] })).results, [])
  const grepped = await tool('codegenGrepSearch', { query: 'PARSE', includePattern: '*.ts' })
  t.match(grepped.results, /"text":"src\/parseConfig.ts"/)
  t.notMatch(grepped.results, /readme/)
  t.match(await tool('codegenGrepSearch', { query: 'PARSE', caseSensitive: true }), { error: /./ })
  t.match(await tool('codegenGrepSearch', { query: '(' }), { error: /invalid pattern/ })
})

t.test('reading', async t => {
  const { tool } = await agent(t, { files })
  const range = { targetFile: 'src/other.ts', startLineOneIndexed: 1, endLineOneIndexedInclusive: 2 }
  t.same(await tool('codegenReadFileRange', range), { success: true, content: 'two\nthree', file: 'src/other.ts' })
  t.match(await tool('codegenReadFileRange', { ...range, startLineOneIndexed: 5 }), { error: /./ })
  const listed = await tool('codegenListDir', { relativeWorkspacePath: 'src' })
  t.same(listed.directory.files.map(({ name }: { name: string }) => name).toSorted(), ['other.ts', 'parseConfig.ts'])
  t.match(await tool('codegenListDir', { relativeWorkspacePath: 'readme.md' }), { error: /not a directory/ })
  t.match(await tool('codegenListDir', { relativeWorkspacePath: 'a\0b' }), { error: /NUL/ })
  t.match(await tool('codegenListDir', { relativeWorkspacePath: '', more: 1 }), { error: /./ }, 'strict')
})

t.test('editing by a provider: once, again, and everywhere', async t => {
  const { url } = await appending(t)
  const { tool, dir } = await agent(t, { env: { RELACE_API_KEY: 'k', RELACE_BASE_URL: url }, files })
  const read = (name: string) => readFileSync(join(dir, name), 'utf8')
  t.match(await tool('codegenReapply', { targetFile: 'new.ts' }), { success: false, message: /no edit/ })
  const edit = { targetFile: 'new.ts', instructions: 'add a', codeEdit: 'a' }
  t.match(await tool('codegenEditFile', edit), { success: true, filePath: 'new.ts', changesApplied: 'add a' })
  t.equal(read('new.ts'), 'a')
  t.match(await tool('codegenReapply', { targetFile: './new.ts' }), { success: true })
  t.equal(read('new.ts'), 'aa')
  t.match(await tool('codegenEditFile', { ...edit, codeEdit: 'fail' }), { error: /provider/ })
  const editRegions = [
    { relativeWorkspacePath: 'src/other.ts', startLine: 1, endLine: 2 },
    { relativeWorkspacePath: 'src/other.ts' },
    { relativeWorkspacePath: 'readme.md', startLine: null },
  ]
  t.match(await tool('codegenParallelApply', { editPlan: 'plan', editRegions }), { success: true, message: /^3 of 3/ })
  t.equal(read('src/other.ts'), 'two\nthree\nplan Change only lines 1 to 2.plan')
  t.match(await tool('codegenParallelApply', { editPlan: 'fail', editRegions }), { success: false, message: /^0 of 3/ })
  const ranked = await tool('codegenRerank', { path: 'src', query: 'x', filePattern: 'other', tokenLimit: null })
  t.same(
    ranked.files.map(({ path }: { path: string }) => path),
    [join(dir, 'src/other.ts')],
  )
})

t.test('without a provider an edit says what is missing', async t => {
  const { tool } = await agent(t)
  t.match(await tool('codegenReapply', { targetFile: 'x' }), { success: false, message: /API_KEY/ })
  t.match(await tool('codegenParallelApply', { editPlan: 'x', editRegions: null }), {
    success: false,
    message: /API_KEY/,
  })
})
