/** Part 3: the MCP endpoint over plain HTTP, as conforming clients speak it. */
import type { Test } from 'tap'
import { ask, fresh, until, type Target } from './target.ts'

const names = [
  'codegenCodebaseSearch',
  'codegenFileSearch',
  'codegenGrepSearch',
  'codegenListDir',
  'codegenParallelApply',
  'codegenReadFileRange',
  'codegenReapply',
  'fsDeleteFileOrDirectory',
  'fsEditFile',
  'fsGetWorkingDirectory',
  'fsListDirectory',
  'fsReadFile',
  'fsWriteFile',
  'processExecute',
  'processGet',
  'processGetLogs',
  'processKill',
  'processStop',
  'processesList',
]

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export const mcp = async (t: Test, target: Target): Promise<void> => {
  let id = 0
  const post = (body: unknown, headers: Record<string, string> = json) => ask(target, 'POST', '/mcp', { body, headers })
  const request = (method: string, params: unknown = {}) => post({ jsonrpc: '2.0', id: ++id, method, params })
  /** The text block is what clients parse. */
  const tool = async (name: string, args: Record<string, unknown> = {}) => {
    const { body } = await request('tools/call', { name, arguments: args })
    const { content, isError = false, structuredContent } = body.result
    return { text: content[0].text as string, isError, structuredContent }
  }
  const dir = `${target.scratch}/${fresh('mcp')}`

  await t.test('initialize, ping, and no session', async t => {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'contract', version: '1' } }
    const { status, body, headers } = await request('initialize', params)
    t.equal(status, 200)
    t.match(body.result, {
      protocolVersion: '2025-06-18',
      serverInfo: { name: 'Sandbox API Server', version: '1.0.0' },
      capabilities: { logging: {}, tools: { listChanged: true } },
    })
    t.equal(headers['mcp-session-id'], undefined)
    t.equal(
      (await request('initialize', { ...params, protocolVersion: '1999-01-01' })).body.result.protocolVersion,
      '2025-11-25',
    )
    t.match((await request('ping')).body, { result: {} })
    const told = await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    t.same([told.status, told.text], [202, ''])
  })

  await t.test('what is refused before it is read', async t => {
    t.match(await ask(target, 'GET', '/mcp'), { status: 405, body: { error: String } })
    t.equal((await post('{}', { ...json, 'content-type': 'text/plain' })).status, 415)
    t.equal((await post('{}', { 'content-type': 'application/json', accept: 'application/json' })).status, 400)
    t.equal((await post('', json)).status, 400)
    t.equal((await post('{', json)).status, 400)
    t.equal(
      (await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { ...json, 'mcp-protocol-version': '1' })).status,
      400,
    )
    t.equal((await post(`"${'x'.repeat(4.5 * 1024 * 1024)}"`, json)).status, 413)
  })

  await t.test('the current revision, without a handshake', async t => {
    const current = '2026-07-28'
    const meta = {
      'io.modelcontextprotocol/protocolVersion': current,
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const modern = (method: string, params: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
      post(
        { jsonrpc: '2.0', id: ++id, method, params: { ...params, _meta: meta } },
        { ...json, 'mcp-protocol-version': current, 'mcp-method': method, ...headers },
      )
    const discovered = await modern('server/discover')
    t.match(discovered, {
      status: 200,
      body: { id, result: { resultType: 'complete', supportedVersions: [current], capabilities: { tools: {} } } },
    })
    t.equal(discovered.headers['mcp-session-id'], undefined)
    const { tools } = (await modern('tools/list')).body.result
    t.same(tools, (await request('tools/list')).body.result.tools, 'the same tools as ever')
    const called = { name: 'processExecute', arguments: { command: 'echo modern', waitForCompletion: true } }
    t.match((await modern('tools/call', called, { 'mcp-name': 'processExecute' })).body.result, {
      resultType: 'complete',
      structuredContent: { status: 'completed', logs: 'modern\n' },
    })
    t.match(await modern('tools/call', called), { status: 400, body: { id, error: { code: -32020 } } })
    t.match(await modern('tools/list', {}, { 'mcp-method': 'ping' }), {
      status: 400,
      body: { error: { code: -32020 } },
    })
    t.match(await modern('ping'), { status: 404, body: { error: { code: -32601 } } })
    t.match(await modern('tools/list', {}, { 'mcp-protocol-version': '2025-11-25' }), { status: 400 })
    const listened = await modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
    t.match(listened.headers['content-type'], /^text\/event-stream/)
    t.match(listened.text, /subscriptions\/acknowledged[^]*"resultType":"complete"/)
  })

  await t.test('the tools, by name, described', async t => {
    const { tools } = (await request('tools/list')).body.result
    t.same(
      tools.map((entry: { name: string }) => entry.name),
      names,
    )
    for (const { name, description, inputSchema } of tools) {
      t.match(description, /\S/, name)
      t.match(inputSchema, { type: 'object', additionalProperties: false })
    }
  })

  await t.test('files through tools', async t => {
    const path = `${dir}/a.txt`
    t.match(await tool('fsWriteFile', { path, content: 'one two one' }), {
      isError: false,
      structuredContent: { path },
    })
    t.match(JSON.parse((await tool('fsReadFile', { path })).text), { content: 'one two one', size: 11 })
    t.match(await tool('fsEditFile', { path, oldString: 'one', newString: '1' }), { isError: true, text: /2/ })
    t.match(await tool('fsEditFile', { path, oldString: 'none', newString: '1' }), { isError: true, text: /not found/ })
    t.match(await tool('fsEditFile', { path, oldString: 'a', newString: 'a' }), { isError: true, text: /identical/ })
    t.match(
      (await tool('fsEditFile', { path, oldString: 'one', newString: '1', replaceAll: true })).structuredContent,
      {
        occurrencesReplaced: 2,
      },
    )
    t.equal(JSON.parse((await tool('fsReadFile', { path })).text).content, '1 two 1')
    t.match((await tool('fsListDirectory', { path: dir })).structuredContent, {
      directory: { files: [{ name: 'a.txt' }] },
    })
    t.equal((await tool('fsGetWorkingDirectory')).structuredContent.path, target.workdir)
    t.equal((await tool('fsDeleteFileOrDirectory', { path: dir, recursive: true })).isError, false)
  })

  await t.test('processes through tools', async t => {
    const name = fresh('mcp')
    const done = await tool('processExecute', { command: 'echo hi; exit 3', waitForCompletion: true, name })
    t.match(done.structuredContent, { name, status: 'failed', exitCode: 3, logs: 'hi\n' })
    t.match((await tool('processGetLogs', { identifier: name })).structuredContent, { logs: 'hi\n' })
    t.match((await tool('processGet', { identifier: name })).structuredContent, { name, exitCode: 3 })
    await tool('processExecute', { command: 'sleep 300', name: `${name}-2` })
    t.same((await tool('processStop', { identifier: `${name}-2` })).structuredContent, { status: 'stopped' })
  })

  await t.test('a process is listed and killed through tools', async t => {
    const name = fresh('mcp')
    await tool('processExecute', { command: 'sleep 300', name })
    const listed = async () =>
      (await tool('processesList')).structuredContent.processes.find((one: { name: string }) => one.name === name)
    t.match(await listed(), { status: 'running' })
    t.same((await tool('processKill', { identifier: name })).structuredContent, { status: 'killed' })
    await until('its end', async () => (await listed()).status === 'killed')
  })

  await t.test('a code base is searched and read through tools', async t => {
    const base = fresh('code')
    const code = `${target.workdir === '/' ? '' : target.workdir}/${base}`
    await tool('fsWriteFile', { path: `${code}/parse.ts`, content: 'export const parseConfig = 1\ntwo\nthree\n' })
    await tool('fsWriteFile', { path: `${code}/readme.md`, content: `how ${base} parses\n` })
    const found = async (name: string, args: object) => (await tool(name, { ...args })).structuredContent
    t.same((await found('codegenFileSearch', { query: 'prs.ts', directory: base })).matches, [`${code}/parse.ts`])
    const asked = { query: 'where is parseConfig?', targetDirectories: [base] }
    t.match((await found('codegenCodebaseSearch', asked)).results[0], `${code}/parse.ts:1: export const parseConfig`)
    const grepped = await found('codegenGrepSearch', { query: `how ${base} parses`, includePattern: '*.md' })
    t.match(grepped.results, `${base}/readme.md`)
    const range = { targetFile: `${code}/parse.ts`, startLineOneIndexed: 2, endLineOneIndexedInclusive: 3 }
    t.equal((await found('codegenReadFileRange', range)).content, 'two\nthree')
    const { directory } = await found('codegenListDir', { relativeWorkspacePath: base })
    t.same(directory.files.map(({ name }: { name: string }) => name).toSorted(), ['parse.ts', 'readme.md'])
    await tool('fsDeleteFileOrDirectory', { path: code, recursive: true })
  })

  await t.test('errors are told as MCP tells them', async t => {
    t.match((await request('tools/call', { name: 'none', arguments: {} })).body, { error: { code: -32602 } })
    t.match(await tool('fsReadFile', {}), { isError: true, text: /\S/ })
    t.match(await tool('fsReadFile', { path: `${dir}/none` }), { isError: true, text: /\S/ })
  })

  await t.test('fifty at once get their own answers', async t => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        post({
          jsonrpc: '2.0',
          id: `call-${index}`,
          method: 'tools/call',
          params: { name: 'processGet', arguments: { identifier: `nobody-${index}` } },
        }),
      ),
    )
    for (const [index, { body }] of answers.entries()) {
      t.equal(body.id, `call-${index}`)
      t.match(body.result.content[0].text, new RegExp(`nobody-${index}\\b`))
    }
  })
}
