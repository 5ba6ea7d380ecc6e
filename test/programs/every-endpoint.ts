/**
 * Asks a daemon for a bit of everything that makes it open files or start its tools; argument: its port. What is answered
 * is not looked at: refusals open files too.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

const port = Number(process.argv[2])
const base = `http://127.0.0.1:${port}`

const call = async (method: string, path: string, body?: unknown): Promise<string> => {
  const json = body !== undefined && typeof body !== 'string'
  try {
    const answer = await fetch(`${base}${path}`, {
      method,
      headers: {
        accept: path === '/mcp' ? 'application/json, text/event-stream' : 'application/json',
        ...(json && { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : body }),
      signal: AbortSignal.timeout(15_000),
    })
    return await answer.text()
  } catch (error) {
    return String(error)
  }
}

/** A terminal is a WebSocket: the upgrade is enough to start its shell. */
const terminal = async (): Promise<void> => {
  const socket = connect(port, '127.0.0.1')
  socket.write(
    'GET /terminal/ws?cols=80&rows=24 HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  await once(socket, 'data')
  socket.destroy()
}

const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const key = Buffer.alloc(32, 1).toString('base64')
const tunnel = Buffer.from(
  JSON.stringify({
    local_ip: '10.9.0.2/32',
    peer_endpoint: 'peer.example:51820',
    peer_public_key: key,
    private_key: key,
    route_all: true,
  }).replace('peer.example', '192.0.2.7'),
).toString('base64')

const started = (await call('POST', '/process', { command: 'sleep 30', name: 'sleeps' })) || '{}'
const { pid = 0 } = JSON.parse(started) as { pid?: string }
const upload = JSON.parse(await call('POST', '/filesystem-multipart/initiate/%2Ftmp%2Fparts', {})) as {
  uploadId?: string
}
const calls: [string, string, unknown?][] = [
  ['GET', '/health'],
  ['GET', '/swagger'],
  ['GET', '/swagger/openapi.json'],
  ['GET', '/system/activity'],
  ['POST', '/process', { command: 'true', waitForCompletion: true }],
  ['POST', '/process', { command: 'exit 1', restartOnFailure: true, maxRestarts: 1, waitForCompletion: true }],
  ['GET', '/process'],
  ['GET', '/process/sleeps/logs'],
  ['GET', `/network/process/${pid}/ports`],
  ['POST', `/network/process/${pid}/monitor`, { callback: 'https://localhost:1/x' }],
  ['POST', `/network/process/${pid}/monitor`, { callback: 'http://nosuch.example/x' }],
  ['PUT', '/filesystem//tmp/a.txt', { content: 'some text' }],
  ['GET', '/filesystem//tmp/a.txt'],
  ['GET', '/filesystem//tmp'],
  ['GET', '/filesystem/tree//tmp'],
  ['GET', '/filesystem-find//tmp?patterns=*.txt'],
  ['GET', '/filesystem-search//tmp?query=a'],
  ['GET', '/filesystem-content-search//tmp?query=text'],
  ['GET', '/filesystem-archive//tmp'],
  ['PUT', `/filesystem-multipart/${upload.uploadId}/part?partNumber=1`, 'a part'],
  ['POST', `/filesystem-multipart/${upload.uploadId}/complete`, {}],
  ['GET', '/filesystem-multipart'],
  ['GET', '/drives/mount'],
  ['POST', '/drives/mount', { driveName: 'd', mountPath: '/mnt/d' }],
  ['POST', '/environment/reload'],
  ['GET', '/codegen/reranking//tmp?query=text'],
  ['PUT', '/codegen/fastapply//tmp/a.txt', { codeEdit: 'x', model: 'auto' }],
  ['POST', '/mcp', message('tools/list', {})],
  ['POST', '/mcp', message('tools/call', { name: 'codebaseGrepSearch', arguments: { query: 'text' } })],
  ['POST', '/mcp', message('tools/call', { name: 'processExecute', arguments: { command: 'true' } })],
  ['GET', '/terminal'],
  ['PUT', '/network/tunnel/config', { config: tunnel }],
  ['DELETE', '/network/tunnel'],
  ['POST', '/upgrade', { version: 'latest' }],
  ['DELETE', '/process/sleeps/kill'],
]
for (const [method, path, body] of calls) {
  const answer = await call(method, path, body)
  console.log(`${method} ${path}: ${answer.slice(0, 900).replaceAll('\n', ' ')}`)
}
await terminal()
