import { execFile } from 'node:child_process'
import { readFileSync, statSync, writeFileSync, chmodSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { daemonServer } from '../../support/daemon.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

type Result = { isError?: boolean; content: { text: string }[]; structuredContent?: Record<string, unknown> }

/** A daemon and the official client connected to it. */
const connected = async (t: Test) => {
  const made = await daemonServer(t)
  const client = new Client({ name: 'test', version: '1' })
  // The SDK's declared transport type is stricter than what connect takes.
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${made.url}/mcp`)) as Parameters<Client['connect']>[0],
  )
  t.teardown(() => client.close())
  const tool = async (name: string, args: Record<string, unknown> = {}) =>
    (await client.callTool({ name, arguments: args })) as unknown as Result
  return { ...made, client, tool }
}

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

t.test('the official client connects and finds every tool, by name in order, with schemas', async t => {
  const { client } = await connected(t)
  t.match(client.getServerVersion(), { name: 'Sandbox API Server', version: '1.0.0' })
  t.match(client.getServerCapabilities(), { logging: {}, tools: { listChanged: true } })
  const { tools } = await client.listTools()
  const names = tools.map(({ name }) => name)
  t.same(names, [...names].sort())
  for (const name of [
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
  ])
    t.ok(names.includes(name), name)
  for (const { name, description, inputSchema, outputSchema } of tools) {
    t.ok(description, `${name} has a description`)
    t.match(inputSchema, { type: 'object', additionalProperties: false }, `${name} refuses unknown arguments`)
    t.match(outputSchema, { type: 'object' })
  }
})

t.test('files: write, read, list, edit, delete', async t => {
  const { tool, dir } = await connected(t)
  t.match(await tool('fsGetWorkingDirectory'), { structuredContent: { path: dir } })
  t.match(await tool('fsWriteFile', { path: 'sub/a.txt', content: 'one two one' }), {
    structuredContent: { path: 'sub/a.txt', message: /success/ },
  })
  t.equal(readFileSync(join(dir, 'sub/a.txt'), 'utf8'), 'one two one')
  const read = await tool('fsReadFile', { path: 'sub/a.txt' })
  t.match(read.structuredContent, {
    content: 'one two one',
    size: 11,
    name: 'sub/a.txt',
    lastModified: /T\d\d:\d\d:\d\d(Z|[+-])/,
  })
  t.same(JSON.parse(read.content[0]?.text ?? ''), read.structuredContent, 'the text is the same object')
  t.match((await tool('fsListDirectory', { path: 'sub' })).structuredContent, {
    directory: { files: [{ name: 'a.txt' }] },
  })
  chmodSync(join(dir, 'sub/a.txt'), 0o751)
  t.match(await tool('fsEditFile', { path: 'sub/a.txt', oldString: 'two', newString: '2' }), {
    structuredContent: { occurrencesReplaced: 1 },
  })
  t.equal(statSync(join(dir, 'sub/a.txt')).mode & 0o777, 0o751, 'an edit keeps the mode')
  t.match(await tool('fsEditFile', { path: 'sub/a.txt', oldString: 'one', newString: '1', replaceAll: true }), {
    structuredContent: { occurrencesReplaced: 2 },
  })
  t.equal(readFileSync(join(dir, 'sub/a.txt'), 'utf8'), '1 2 1')
  t.match(await tool('fsWriteFile', { path: 'made', isDirectory: true }), { structuredContent: { path: 'made' } })
  t.equal(statSync(join(dir, 'made')).mode & 0o777, 0o755)
  t.match(await tool('fsDeleteFileOrDirectory', { path: 'sub' }), { isError: true })
  t.match(await tool('fsDeleteFileOrDirectory', { path: 'sub', isDirectory: false }), { isError: true })
  t.match(await tool('fsDeleteFileOrDirectory', { path: 'sub', recursive: true }), {
    structuredContent: { path: 'sub' },
  })
  t.match(await tool('fsReadFile', { path: 'sub/a.txt' }), {
    isError: true,
    content: [{ type: 'text', text: /sub\/a.txt/ }],
  })
})

t.test('an edit that is not clear leaves the file as it is', async t => {
  const { tool, dir } = await connected(t)
  const file = join(dir, 'a.txt')
  writeFileSync(file, 'aXaXa')
  const edit = (oldString: string, newString: string) => tool('fsEditFile', { path: 'a.txt', oldString, newString })
  t.match(await edit('', 'b'), { isError: true, content: [{ text: /empty/ }] })
  t.match(await edit('a', 'a'), { isError: true, content: [{ text: /identical/ }] })
  t.match(await edit('nope', 'b'), { isError: true, content: [{ text: /not found/ }] })
  t.match(await edit('X', 'b'), { isError: true, content: [{ text: /2 times/ }] })
  writeFileSync(join(dir, 'binary'), Buffer.from([0x61, 0xff, 0x62]))
  t.match(await tool('fsEditFile', { path: 'binary', oldString: 'a', newString: 'c' }), {
    isError: true,
    content: [{ text: /UTF-8/ }],
  })
  t.equal(readFileSync(file, 'utf8'), 'aXaXa')
  t.same(readFileSync(join(dir, 'binary')), Buffer.from([0x61, 0xff, 0x62]))
})

t.test('processes: execute, get, logs, stop, kill, list', async t => {
  const { tool } = await connected(t)
  const done = await tool('processExecute', { command: 'echo hello; exit 3', waitForCompletion: true, name: null })
  t.match(done.structuredContent, { status: 'failed', exitCode: 3, logs: 'hello\n' })
  t.match((await tool('processGet', { identifier: done.structuredContent?.['pid'] })).structuredContent, {
    status: 'failed',
    stdout: 'hello\n',
  })
  const running = await tool('processExecute', { command: 'echo up; exec sleep 1000', name: 'sleeper' })
  t.match(running.structuredContent, { name: 'sleeper', status: 'running' })
  t.match(await tool('processStop', { identifier: 'sleeper' }), { structuredContent: { status: 'stopped' } })
  await tool('processExecute', { command: 'trap "" TERM; sleep 1000', name: 'stubborn' })
  t.match(await tool('processKill', { identifier: 'stubborn' }), { structuredContent: { status: 'killed' } })
  t.match(await tool('processGetLogs', { identifier: done.structuredContent?.['name'] }), {
    structuredContent: { logs: 'hello\n' },
  })
  const { processes } = (await tool('processesList')).structuredContent as { processes: unknown[] }
  t.equal(processes.length, 3)
  t.match(await tool('processGet', { identifier: 'nobody' }), { isError: true })
})

t.test('a wait longer than the caller may wait is an error that leaves the process alone', async t => {
  const { tool } = await connected(t)
  const late = await tool('processExecute', {
    command: 'sleep 1000',
    name: 'late',
    waitForCompletion: true,
    timeout: 1,
  })
  t.match(late, { isError: true, content: [{ text: /timed out/ }] })
  t.match((await tool('processGet', { identifier: 'late' })).structuredContent, { status: 'running' })
  await tool('processKill', { identifier: 'late' })
})

t.test('wrong arguments and unknown tools are told apart', async t => {
  const { client, tool } = await connected(t)
  t.match(await tool('fsReadFile', {}), { isError: true, content: [{ text: /path/ }] })
  t.match(await tool('fsReadFile', { path: 'a', color: 'red' }), { isError: true, content: [{ text: /color/ }] })
  t.match(await tool('fsReadFile', { path: 7 }), { isError: true })
  t.match(await tool('fsReadFile', { path: 'a\0b' }), { isError: true, content: [{ text: /NUL/ }] })
  await t.rejects(client.callTool({ name: 'no-such-tool' }), { code: -32602 })
})

t.test('fifty calls at once each get their own answer', async t => {
  const { tool } = await connected(t)
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, i) =>
      tool('processExecute', { command: `echo ${i}`, waitForCompletion: true }),
    ),
  )
  t.same(
    answers.map(({ structuredContent }) => structuredContent?.['logs']),
    Array.from({ length: 50 }, (_, i) => `${i}\n`),
  )
})

t.test('HTTP: what is let in', async t => {
  const { url } = await daemonServer(t)
  const post = (body: unknown, more: Record<string, string> = {}) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  t.equal((await post(ping)).status, 200, 'no session, no initialize needed')
  t.equal((await post(ping)).headers.get('mcp-session-id'), null)
  t.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202)
  t.equal((await post(ping, { 'content-type': 'text/plain' })).status, 415)
  t.equal((await post(ping, { accept: 'application/json' })).status, 400)
  t.equal((await post(ping, { accept: '*/*' })).status, 200)
  t.equal((await post(ping, { 'mcp-protocol-version': '1999-01-01' })).status, 400)
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])
    t.equal((await post(ping, { 'mcp-protocol-version': version })).status, 200, version)
  t.equal((await post(ping, { 'last-event-id': '1' })).status, 400)
  t.equal((await post('')).status, 400)
  t.equal((await post('{nonsense')).status, 400)
  t.equal((await post({ hello: 'world' })).status, 400)
  t.equal((await post(`"${'x'.repeat(4 * 1024 * 1024)}"`)).status, 413)
  t.match(await (await post({ jsonrpc: '2.0', id: 9, method: 'no/such' })).json(), { id: 9, error: { code: -32601 } })
  const get = await fetch(`${url}/mcp`)
  t.equal(get.status, 405)
  t.match(await get.json(), { error: /POST/ })
  t.equal((await fetch(`${url}/mcp`, { method: 'DELETE' })).status, 404)
  t.equal((await fetch(`${url}/mcp`, { method: 'OPTIONS' })).status, 204)
})

t.test('HTTP: batches belong to older revisions', async t => {
  const { url } = await daemonServer(t)
  const post = (version?: string) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...headers, ...(version ? { 'mcp-protocol-version': version } : {}) },
      body: JSON.stringify([ping, { ...ping, id: 'two' }]),
    })
  t.same(await (await post()).json(), [
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 'two', result: {} },
  ])
  t.equal((await post('2025-06-18')).status, 400)
})

t.test('HTTP: initialize echoes a version it knows, else the newest', async t => {
  const { url } = await daemonServer(t)
  const initialize = async (protocolVersion: string) => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } },
    }
    const answer = await fetch(`${url}/mcp`, { method: 'POST', headers, body: JSON.stringify(body) })
    return ((await answer.json()) as { result: { protocolVersion: string } }).result.protocolVersion
  }
  t.equal(await initialize('2025-03-26'), '2025-03-26')
  t.equal(await initialize('2025-11-25'), '2025-11-25')
  t.equal(await initialize('2001-01-01'), '2025-11-25')
})

t.test('HTTP: a page that rebinds its name to loopback is refused', async t => {
  const { port } = await daemonServer(t)
  const { request } = await import('node:http')
  const status = await new Promise<number>((resolve, reject) => {
    const call = request(
      { host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers: { ...headers, host: 'evil.example' } },
      answer => resolve(answer.statusCode ?? 0),
    )
    call.on('error', reject)
    call.end(JSON.stringify(ping))
  })
  t.equal(status, 403)
})

t.test("the inspector's command line lists and calls tools", async t => {
  const { url } = await daemonServer(t)
  const inspect = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(root, 'node_modules/.bin/mcp-inspector'), '--cli', `${url}/mcp`, '--transport', 'http', ...args],
      { timeout: 120_000 },
    )
    return JSON.parse(stdout)
  }
  t.match(
    (await inspect('--method', 'tools/list')).tools.map(({ name }: { name: string }) => name),
    /processExecute/,
  )
  const called = await inspect(
    '--method',
    'tools/call',
    '--tool-name',
    'processExecute',
    '--tool-arg',
    'command=echo inspected',
    '--tool-arg',
    'waitForCompletion=true',
  )
  t.match(called, { structuredContent: { logs: 'inspected\n' } })
})
