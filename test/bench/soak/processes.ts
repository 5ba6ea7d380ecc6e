/** What a round does with processes, terminals and tools. */
import { once } from 'node:events'
import WebSocket from 'ws'
import { many, type Client } from './client.ts'

const commands = 200
const readers = 100
const idleStreams = 1_000
const toolCalls = 50

/** Short commands, ten at a time. */
export const run = (client: Client): Promise<void> =>
  many(commands, 10, () =>
    client.drain('POST', '/process', JSON.stringify({ command: 'echo one; echo two >&2', waitForCompletion: true })),
  )

/** A hundred readers of one log, from its first line to its last. */
export const readLog = async (client: Client, name: string): Promise<void> => {
  await client.json('POST', '/process', { command: 'seq 20000; sleep 1; seq 20000', name })
  const read = new Set<number>()
  await many(readers, readers, async () => void read.add(await client.drain('GET', `/process/${name}/logs/stream`)))
  if (read.size !== 1) throw new Error(`readers of one log have read ${[...read].join(', ')} bytes`)
}

/** A thousand streams of a process that says nothing. */
export const idle = async (client: Client, name: string): Promise<void> => {
  await client.json('POST', '/process', { command: 'sleep 600', name })
  const streams = await Promise.all(
    Array.from({ length: idleStreams }, () => client.open('GET', `/process/${name}/logs/stream`)),
  )
  const ended = streams.map(stream => once(stream, 'close').catch(() => undefined))
  for (const stream of streams) stream.destroy()
  await Promise.all(ended)
  await client.json('DELETE', `/process/${name}/kill`)
}

/** Input, events, ports and a monitor of one process, and one that is started again after each failure. */
export const interact = async (client: Client, name: string): Promise<void> => {
  const { pid } = await client.json('POST', '/process', { command: 'cat', name, stdin: true })
  await client.json('POST', `/network/process/${pid}/monitor`, { callback: '' })
  for (let line = 0; line < 50; line++) await client.json('POST', `/process/${name}/stdin`, { data: `line ${line}\n` })
  await client.json('GET', `/network/process/${pid}/ports`)
  await client.json('DELETE', `/network/process/${pid}/monitor`)
  await client.json('DELETE', `/process/${name}/stdin`)
  await client.drain('POST', '/process', JSON.stringify({ command: 'seq 5000', waitForCompletion: true }), {
    accept: 'text/event-stream',
  })
  const failing = { command: 'exit 1', restartOnFailure: true, maxRestarts: 1, waitForCompletion: true }
  await client.json('POST', '/process', failing)
}

/** Five terminals with a shell each, which write a screen and end. */
export const terminals = (client: Client, round: number): Promise<void> =>
  many(5, 5, async index => {
    const address = `${client.url.replace('http', 'ws')}/terminal/ws?sessionId=soak-${round}-${index}&shell=/bin/sh`
    const socket = new WebSocket(address)
    await once(socket, 'open')
    const closed = once(socket, 'close')
    socket.on('message', () => undefined)
    socket.send(JSON.stringify({ type: 'resize', cols: 100, rows: 40 }))
    socket.send(JSON.stringify({ type: 'input', data: 'seq 5000\rexit\r' }))
    await closed
  })

/** An agent's session: what tools there are, and calls of them. */
export const tools = async (client: Client): Promise<void> => {
  const accept = { accept: 'application/json, text/event-stream' }
  const call = (id: number, method: string, params: object) =>
    client.json('POST', '/mcp', { jsonrpc: '2.0', id, method, params }, accept)
  const clientInfo = { name: 'soak', version: '1' }
  await call(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  const { result } = await call(1, 'tools/list', {})
  if (result.tools.length === 0) throw new Error('there are no tools')
  const asked = [
    ['fsListDirectory', { path: '.' }],
    ['fsWriteFile', { path: 'agent.txt', content: 'one two three\n'.repeat(1_000) }],
    ['fsReadFile', { path: 'agent.txt' }],
    ['codegenGrepSearch', { query: 'needle3', includePattern: '/pkg/p1*/**' }],
    ['processExecute', { command: 'echo hi', waitForCompletion: true }],
  ] as const
  await many(toolCalls, 4, async index => {
    const [name, parameters] = asked[index % asked.length] as (typeof asked)[number]
    const { result } = await call(index + 2, 'tools/call', { name, arguments: parameters })
    if (result?.isError) throw new Error(`${name}: ${JSON.stringify(result).slice(0, 300)}`)
  })
}

/** Edits and ranking by a provider, which is ours: see ./provider.ts. */
export const code = (client: Client): Promise<void> =>
  many(20, 4, async index => {
    await client.json('PUT', `/filesystem/code/${index}.js`, { content: `const a = ${index}\n`.repeat(200) })
    await client.json('PUT', `/codegen/fastapply/code/${index}.js`, { codeEdit: '// ... existing code ...\nlet b' })
    await client.json('GET', `/codegen/reranking/code?query=const&scoreThreshold=0.1`)
  })

/** Pages and documents. */
export const pages = async (client: Client): Promise<void> => {
  for (const path of ['/health', '/terminal', '/swagger/openapi.json', '/swagger/index.html', '/process'])
    await client.drain('GET', path)
}
