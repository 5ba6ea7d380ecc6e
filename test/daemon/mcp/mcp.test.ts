import { readFileSync, statSync, writeFileSync, chmodSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { callTool, type Tool } from '../../../daemon/mcp/tool.ts'
import { mostJsonBytes } from '../../../shared/json-size.ts'
import type { Context } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import { fakeClock } from '../../support/clock.ts'
import { processDaemon, processServer, until } from '../../support/processes.ts'

type Result = { isError?: boolean; content: { text: string }[]; structuredContent?: Record<string, unknown> }

/** A daemon and the official client connected to it. */
const connected = async (t: Test) => {
  const made = await processServer(t)
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
    const told = Object.values(inputSchema.properties ?? {}).filter(property => 'description' in property)
    if (name !== 'processesList' && name !== 'fsGetWorkingDirectory')
      t.ok(told.length > 0, `${name} tells of its arguments`)
    t.match(inputSchema, { type: 'object', additionalProperties: false }, `${name} refuses unknown arguments`)
    t.match(outputSchema, { type: 'object' })
    t.notMatch(JSON.stringify([inputSchema, outputSchema]), /"type":\[/, `${name} has one type a schema`)
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

t.test('what would take too much as JSON is a result that says so', async t => {
  const { tool, dir } = await connected(t)
  const zeros = '\0'.repeat(1e6)
  const output = { texts: Array.from({ length: 1 + mostJsonBytes() / 12e6 }, () => zeros) }
  const large = { run: () => output, name: 'large', input: s.strictObject({}) } as unknown as Tool
  const context = { signal: new AbortController().signal } as Context
  t.match(await callTool(large, {}, context), { isError: true, content: [{ text: /too large for JSON/ }] })
  writeFileSync(join(dir, 'a.txt'), 'a'.repeat(100_000))
  const edit = { path: 'a.txt', oldString: 'a', newString: 'b'.repeat(1_000), replaceAll: true }
  t.match(await tool('fsEditFile', edit), { isError: true, content: [{ text: /larger than 67108864 bytes/ }] })
  const half = { ...edit, oldString: '\ud800' }
  t.match(await tool('fsEditFile', half), { isError: true, content: [{ text: /not found/ }] })
  t.equal(statSync(join(dir, 'a.txt')).size, 100_000)
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

/** A daemon whose clock is moved by hand. */
const timed = async (t: Test) => {
  const clock = fakeClock()
  const { call } = await processDaemon(t, { clock })
  const tool = async (name: string, args: object): Promise<Result> => {
    const params = { name, arguments: args }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const headers = { 'content-type': 'application/json', accept: '*/*' }
    return (await call('POST', '/mcp', { headers, body: message })).body.result
  }
  /** Calls processExecute and lets `ms` pass once the process runs. */
  const execute = async (args: { name: string } & Record<string, unknown>, ms: number): Promise<Result> => {
    const answer = tool('processExecute', { command: 'echo up; exec sleep 1000', waitForCompletion: true, ...args })
    await until('the process', async () => {
      const { structuredContent } = await tool('processGet', { identifier: args.name })
      // Output is looked for every so often.
      await clock.tick(10)
      return structuredContent?.['stdout'] === 'up\n'
    })
    await clock.tick(ms)
    return answer
  }
  return { tool, execute }
}

t.test('a long wait is cut after 58 seconds, and the agent is told to look again', async t => {
  const { tool, execute } = await timed(t)
  const cut = {
    structuredContent: { status: 'running', logs: 'up\n', pollRequired: true, message: /processGet/ },
  }
  t.match(await execute({ name: 'long', timeout: 59 }, 58_000), cut)
  t.match(await execute({ name: 'endless', timeout: 0 }, 58_000), cut)
  t.match(await execute({ name: 'kept', keepAlive: true }, 58_000), cut)
  t.match(await execute({ name: 'asked', timeout: 58 }, 58_000), { isError: true, content: [{ text: /timed out/ }] })
  t.match(await execute({ name: 'usual' }, 30_000), { isError: true, content: [{ text: /timed out/ }] })
  for (const identifier of ['long', 'endless', 'kept', 'asked', 'usual'])
    t.match(await tool('processGet', { identifier }), { structuredContent: { status: 'running' } }, identifier)
})

t.test('a name may be that of a running process, and means the latest', async t => {
  const { tool, dir } = await connected(t)
  const here = { workingDir: dir, waitForCompletion: true }
  await tool('processExecute', { ...here, command: 'mkfifo one two' })
  const start = async (word: string): Promise<string> => {
    const command = `echo ${word}; read line < ${word}; echo $line`
    const { structuredContent } = await tool('processExecute', { command, workingDir: dir, name: 'twin' })
    return String(structuredContent?.['pid'])
  }
  const [one, two] = [await start('one'), await start('two')]
  t.match(await tool('processGet', { identifier: 'twin' }), { structuredContent: { pid: two, status: 'running' } })
  t.match(await tool('processGet', { identifier: one }), { structuredContent: { pid: one, status: 'running' } })
  await tool('processExecute', { ...here, command: 'echo first > one' })
  await until('the first to end', async () => {
    const { structuredContent } = await tool('processGet', { identifier: one })
    return structuredContent?.['status'] === 'completed'
  })
  t.match(await tool('processGetLogs', { identifier: one }), { structuredContent: { logs: 'one\nfirst\n' } })
  t.match(await tool('processGetLogs', { identifier: two }), { structuredContent: { logs: 'two\n' } })
  await tool('processKill', { identifier: 'twin' })
})
