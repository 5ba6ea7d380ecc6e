/**
 * Run once when the bundle is made: starts the daemon as boot.js does, asks it for what a sandbox is asked for
 * first, and keeps what V8 compiled on the way beside each piece.
 */
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { loader } from './loader.ts'

const { load, pieces } = loader(__dirname)

/** The port the daemon says that it listens on. */
const listening = (): Promise<number> =>
  new Promise(resolve => {
    const write = process.stderr.write.bind(process.stderr)
    process.stderr.write = ((line: string, ...rest: never[]) => {
      const port = /"daemon\.listening".*"port":(\d+)/.exec(String(line))?.[1]
      if (port) resolve(Number(port))
      return write(line, ...rest)
    }) as typeof process.stderr.write
  })

const ask = (port: number, method: string, path: string, body?: unknown): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const sent = request({ host: '127.0.0.1', port, method, path, headers }, answer => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.once('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

const run = async (): Promise<void> => {
  const port = listening()
  load('main.js')
  const at = await port
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'warm', version: '1' } },
  }
  const calls: [string, string, unknown?][] = [
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
    ['POST', '/mcp', initialize],
  ]
  // Twice, because a function is compiled when it is first called and its inner ones when they are.
  for (const [method, path, body] of [...calls, ...calls])
    process.stdout.write(`${method} ${path} ${await ask(at, method, path, body)}\n`)
  for (const [name, { script }] of pieces) writeFileSync(join(__dirname, `${name}.cache`), script.createCachedData())
  process.exit(0)
}

run().catch(error => {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
  process.exit(1)
})
