/** Every tool through every official client in every revision: the same results, and what they say is so. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { jsonLog } from '../../../shared/log.ts'
import { daemonServer } from '../../support/daemon.ts'
import { mcpClients, type Connect, type McpClient, type ToolResult } from '../../support/mcp-clients.ts'
import { answerJson, standIn } from '../../support/stand-in.ts'
import { until } from '../../support/until.ts'

/** A provider of edits that merges by appending. */
const provider = async (t: Test): Promise<Record<string, string>> => {
  const { url } = await standIn(t, ({ body }, response) => {
    const { initial_code: code, edit_snippet: edit, codebase } = JSON.parse(body)
    const results = codebase?.map(({ filename }: { filename: string }) => ({ filename, score: 1 }))
    answerJson(response, results ? { results } : { mergedCode: code + edit })
  })
  return { RELACE_API_KEY: 'key', RELACE_BASE_URL: url }
}

const files = {
  'readme.md': 'How to parse\n',
  src: { 'parse.ts': 'export const parse = 1\n', 'other.ts': 'two\nthree\n' },
}

/** What a tool says, with what differs from run to run taken out. */
const said = ({ isError = false, content, structuredContent = {} }: ToolResult, dir: string): unknown =>
  JSON.parse(
    JSON.stringify(isError ? { isError, text: content[0]?.text } : structuredContent, (key, value) =>
      /^(pid|startedAt|completedAt|lastModified)$/.test(key) ? typeof value : value,
    ).replaceAll(dir, 'DIR'),
  )

/** Calls every tool once or more, looks at what it did, and answers all that was said. */
const tour = async (t: Test, { call }: McpClient, dir: string): Promise<unknown[]> => {
  const heard: unknown[] = []
  const used = new Set<string>()
  const tool = async (name: string, args: Record<string, unknown> = {}): Promise<Record<string, unknown>> => {
    const result = await call(name, args)
    used.add(name)
    heard.push([name, said(result, dir)])
    if (!result.isError) t.same(JSON.parse(result.content[0]?.text ?? ''), result.structuredContent, `${name}: twice`)
    return result.structuredContent ?? { error: result.content[0]?.text }
  }
  const read = (path: string) => readFileSync(join(dir, path), 'utf8')

  t.equal((await tool('fsGetWorkingDirectory'))['path'], dir)
  await tool('fsWriteFile', { path: 'a/b.txt', content: 'one two one' })
  t.equal(read('a/b.txt'), 'one two one')
  await tool('fsWriteFile', { path: 'made', isDirectory: true, permissions: null })
  t.equal(statSync(join(dir, 'made')).mode & 0o777, 0o755)
  await tool('fsReadFile', { path: 'a/b.txt' })
  await tool('fsListDirectory', { path: 'a' })
  t.match(await tool('fsEditFile', { path: 'a/b.txt', oldString: 'one', newString: '1' }), { error: /2/ })
  await tool('fsEditFile', { path: 'a/b.txt', oldString: 'one', newString: '1', replaceAll: true })
  t.equal(read('a/b.txt'), '1 two 1')
  await tool('fsDeleteFileOrDirectory', { path: 'a', recursive: true })
  t.notOk(existsSync(join(dir, 'a')))

  const run = { command: 'echo "$WHO"; pwd; exit 3', name: 'run', env: { WHO: 'me' }, waitForCompletion: true }
  t.match(await tool('processExecute', run), { status: 'failed', exitCode: 3, logs: 'me\n/\n' })
  t.same(await tool('processGetLogs', { identifier: 'run' }), { logs: 'me\n/\n' })
  await tool('processGet', { identifier: 'run' })
  await tool('processExecute', { command: 'exec sleep 1000', name: 'still', workingDir: dir })
  t.same(await tool('processStop', { identifier: 'still' }), { status: 'stopped' })
  await tool('processExecute', { command: 'exec sleep 1000', name: 'hard' })
  t.same(await tool('processKill', { identifier: 'hard' }), { status: 'killed' })
  t.match(await tool('processGet', { identifier: 'nobody' }), { error: /nobody/ })
  const { processes } = (await tool('processesList')) as { processes: { name: string; status: string }[] }
  t.same(
    processes.map(({ name, status }) => [name, status]),
    [
      ['run', 'failed'],
      ['still', 'stopped'],
      ['hard', 'killed'],
    ],
  )

  t.match(await tool('codegenFileSearch', { query: 'prs' }), { matches: [join(dir, 'src/parse.ts')] })
  await tool('codegenCodebaseSearch', { query: 'parse', targetDirectories: ['src'] })
  t.match(await tool('codegenGrepSearch', { query: 'PARSE', includePattern: '*.ts' }), { results: /parse\.ts/ })
  const range = { startLineOneIndexed: 2, endLineOneIndexedInclusive: 2 }
  t.match(await tool('codegenReadFileRange', { targetFile: 'src/other.ts', ...range }), { content: 'three' })
  await tool('codegenListDir', { relativeWorkspacePath: 'src' })
  await tool('codegenEditFile', { targetFile: 'new.ts', instructions: 'add', codeEdit: 'x' })
  await tool('codegenReapply', { targetFile: 'new.ts' })
  t.equal(read('new.ts'), 'xx')
  await tool('codegenParallelApply', { editPlan: '+', editRegions: [{ relativeWorkspacePath: 'readme.md' }] })
  t.equal(read('readme.md'), 'How to parse\n+')
  await tool('codegenRerank', { path: 'src', query: 'x', filePattern: 'other' })

  t.match(await tool('fsReadFile'), { error: 'path: is missing' })
  t.match(await tool('fsEditFile', { path: 7, oldString: 'a', color: 'red' }), {
    error: 'path: must be a string\nnewString: is missing\nhas no field color',
  })
  await t.rejects(call('no-such-tool'), { code: -32602, message: /no-such-tool/ })
  return [...heard, [...used].toSorted()]
}

const visit = async (t: Test, connect: Connect) => {
  const made = await daemonServer(t, { env: await provider(t), files })
  const client = await connect(t, made.url)
  const listed = await client.tools()
  const heard = await tour(t, client, made.dir)
  await client.close()
  await made.close()
  return { client, listed, heard }
}

t.test('all clients find the same tools and hear the same', async t => {
  let before: Awaited<ReturnType<typeof visit>> | undefined
  for (const [name, { revision, connect }] of Object.entries(mcpClients))
    await t.test(name, async t => {
      const visited = await visit(t, connect)
      const { client, listed, heard } = visited
      t.equal(client.revision, revision)
      t.match(client.server, { name: 'Sandbox API Server', version: '1.0.0' })
      t.same(
        heard.at(-1),
        listed.map(tool => tool.name),
        'every tool was called, and all are listed in order',
      )
      t.equal(listed.length, 21)
      if (before) {
        t.same(listed, before.listed, 'the same list')
        t.same(heard, before.heard, 'the same results')
      }
      before = visited
    })
})

t.test('a caller that leaves ends its wait and not the process', async t => {
  for (const name of ['client 1.x, 2025-11-25', 'client 2.x, 2026-07-28'])
    await t.test(name, async t => {
      const lines: string[] = []
      const log = jsonLog({ level: 'info', now: () => 0, write: line => lines.push(line) })
      const made = await daemonServer(t, { log })
      const connect = mcpClients[name]?.connect as Connect
      const [caller, other] = [await connect(t, made.url), await connect(t, made.url)]
      const run = (command: string, options: object = {}) =>
        other.call('processExecute', { command, workingDir: made.dir, waitForCompletion: true, ...options })
      await run('mkfifo go')
      const command = 'read line < go; echo $line > done'
      const call = caller.call('processExecute', {
        command,
        name: 'waits',
        workingDir: made.dir,
        waitForCompletion: true,
      })
      const lost = t.rejects(call)
      const status = async () => {
        const { structuredContent } = await other.call('processGet', { identifier: 'waits' })
        return structuredContent?.['status']
      }
      await until(async () => (await status()) === 'running', 'the process to run')
      await caller.close()
      await lost
      await until(async () => lines.some(line => line.includes('"status":499')), 'the call to end')
      t.equal(await status(), 'running')
      await run('echo on > go')
      await until(async () => (await status()) === 'completed', 'the process to end')
      t.equal(readFileSync(join(made.dir, 'done'), 'utf8'), 'on\n')
      t.notOk(
        lines.some(line => line.includes('mcp.tool.failed')),
        'and nothing is wrong with that',
      )
      const audited = lines.filter(line => line.includes('"process_exec"'))
      t.equal(audited.length, 3, 'commands are told to the audit log')
    })
})
