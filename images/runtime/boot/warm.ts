/**
 * Run once when the bundle is made: starts the daemon as boot.js does, sends it the usual first requests, and stores
 * what V8 compiled for them beside each piece.
 */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { keyBytes, provenBytes, writePreface } from '../../../shared/channel.ts'
import { loader } from './loader.ts'

const { load, pieces } = loader(__dirname)

interface Ports {
  readonly port: number
  readonly channel: number
}

/** The ports that the daemon's log names. */
const listening = (): Promise<Ports> =>
  new Promise(resolve => {
    const write = process.stderr.write.bind(process.stderr)
    process.stderr.write = ((line: string, ...rest: never[]) => {
      if (String(line).includes('"daemon.listening"')) resolve(JSON.parse(String(line)) as Ports)
      return write(line, ...rest)
    }) as typeof process.stderr.write
  })

/** One thing to ask: method, path, body, headers. */
type Call = [string, string, unknown?, Record<string, string>?]

/** A connection on which the host speaks to the daemon, whose key is all zeros. */
const channelTo = async (port: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1')
  const [nonce] = (await once(socket, 'data')) as [Buffer]
  const proof = createHmac('sha256', Buffer.alloc(keyBytes))
    .update(provenBytes(nonce, 'host', 'warm'))
    .digest()
  socket.write(writePreface('host', proof))
  return socket
}

/** Asks as the host does; `what` is a method and a path. */
const tell = async (port: number, what: string, body = ''): Promise<void> => {
  const socket = await channelTo(port)
  const headers = `host: warm\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  socket.write(`${what} HTTP/1.1\r\n${headers}\r\n\r\n${body}`)
  await once(socket.resume(), 'close')
}

const ask = (port: number, [method, path, body, more]: Call): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...more }
    const sent = request({ host: '127.0.0.1', port, method, path, headers }, answer => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.once('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const tool = { name: 'fsGetWorkingDirectory' }
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** The first requests of an agent's MCP client, in the revisions with and without a handshake. */
const mcpCalls: Call[] = [
  [
    'POST',
    '/mcp',
    message('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'warm', version: '1' },
    }),
  ],
  ['POST', '/mcp', message('tools/list', {})],
  ['POST', '/mcp', message('tools/call', tool)],
  ...(['server/discover', 'tools/list', 'tools/call'] as const).map((method): Call => {
    const named = method === 'tools/call' ? tool : {}
    const repeated = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
    const headers: Record<string, string> = method === 'tools/call' ? { ...repeated, 'mcp-name': tool.name } : repeated
    return ['POST', '/mcp', message(method, { ...named, _meta: envelope }), headers]
  }),
]

const wrong: Call[] = [
  ['PUT', '/filesystem/warm.txt', { content: 1 }],
  ['POST', '/process', {}],
]

const run = async (): Promise<void> => {
  const ports = listening()
  load('main.js')
  const { port: at, channel } = await ports
  const calls: Call[] = [
    ['GET', '/health'],
    ['PUT', '/filesystem/warm.txt', { content: 'warm' }],
    ['GET', '/filesystem/warm.txt'],
    ['GET', '/filesystem/'],
    ['POST', '/process', { command: 'true', name: 'warm', waitForCompletion: true }],
    ['GET', '/process/warm'],
    ['GET', '/process/warm/logs'],
    ['GET', '/process'],
    ['DELETE', '/filesystem/warm.txt'],
    ['GET', '/nothing-here'],
    ...mcpCalls,
  ]
  // It was started for nobody; who is given one from a pool waits for this.
  await tell(channel, 'PUT /host/claim', JSON.stringify({ environment: { WARM: 'yes' } }))
  // Twice, because a function is compiled when it is first called and its inner ones when they are; and what is right needs the
  // library of schemas only after something was wrong.
  for (const call of [...calls, ...wrong, ...calls])
    process.stdout.write(`${call[0]} ${call[1]} ${await ask(at, call)}\n`)
  await tell(channel, 'GET /system/activity')
  await tell(channel, 'GET /health')
  for (const [name, { script }] of pieces) writeFileSync(join(__dirname, `${name}.cache`), script.createCachedData())
  process.exit(0)
}

run().catch(error => {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
  process.exit(1)
})
