/** Access tokens at every address of the gateway: each thing that can be wrong with one is refused wherever it is shown, in its own words. */
import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import WebSocket, { WebSocketServer } from 'ws'
import { systemClock, type Clock } from '../../../../../shared/clock.ts'
import { testHost } from '../../../../support/whole-host.ts'

/** A machine that takes whatever comes. */
const machine = async (t: Test) => {
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer((asked, response) => {
    asked.resume()
    response.end('{}')
  })
  server.on('upgrade', (asked, socket, head) =>
    sockets.handleUpgrade(asked, socket, head, client => client.close(1000, 'seen')),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { host: '127.0.0.1', port, close: () => server.closeAllConnections() }
}

interface Place {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'socket'
  readonly path: string
  readonly host?: string
}

const below: readonly Omit<Place, 'host'>[] = [
  { method: 'GET', path: '' },
  { method: 'GET', path: '/health' },
  { method: 'GET', path: '/filesystem//etc' },
  { method: 'PUT', path: '/filesystem//tmp/a' },
  { method: 'DELETE', path: '/filesystem//tmp/a' },
  { method: 'POST', path: '/process' },
  { method: 'GET', path: '/process/1/logs/stream' },
  { method: 'POST', path: '/mcp' },
  { method: 'GET', path: '/watch/filesystem//tmp' },
  { method: 'GET', path: '/port/3000/' },
  { method: 'POST', path: '/port/3000/a?b=c' },
  { method: 'socket', path: '/port/3000/ws' },
  { method: 'GET', path: '/terminal' },
  { method: 'socket', path: '/terminal/ws' },
  { method: 'GET', path: '/network/tunnel/config' },
  { method: 'PUT', path: '/network/tunnel/config' },
  { method: 'POST', path: '/upgrade' },
  { method: 'POST', path: '/drives/mount' },
  { method: 'GET', path: '/no/such/path' },
]

const places: readonly Place[] = below.flatMap(({ method, path }) => [
  { method, path: `/default/sandboxes/web${path}` },
  { method, path: path || '/', host: 'sbx-web-default.local.example.org' },
])

interface Answered {
  readonly status: number
  readonly body: string
}

const readText = async (answer: IncomingMessage, done: (answered: Answered) => void) =>
  done({ status: answer.statusCode ?? 0, body: (await buffer(answer)).toString() })

const made = async (t: Test) => {
  let later = 0
  const real = systemClock()
  const clock: Clock = { ...real, now: () => real.now() + later }
  const { host, api } = await testHost(t, { clock, serve: () => machine(t) })
  const { port } = await host.listen()
  await api('POST', '/sandboxes', { metadata: { name: 'web' }, spec: { runtime: { image: 'busybox' } } })
  await api('POST', '/workspaces', { name: 'other' })
  const ask = ({ method, path, host: name }: Place, headers: Record<string, string>) =>
    new Promise<Answered>((done, failed) => {
      const named = { ...headers, ...(name ? { host: name } : {}) }
      if (method === 'socket') {
        const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: named })
        socket.on('open', () => done({ status: 101, body: '' }))
        socket.on('error', failed)
        socket.on('unexpected-response', (_, answer) => void readText(answer, done))
        return
      }
      const sent = request({ port, method, path, headers: named }, answer => void readText(answer, done))
      sent.on('error', failed)
      sent.end(method === 'POST' || method === 'PUT' ? '{}' : undefined)
    })
  const account = async (workspace = 'default') =>
    (await api('POST', `/service_accounts?workspace=${workspace}`, { name: 'ci' })).body as {
      client_id: string
      client_secret: string
    }
  const tokenOf = async ({ client_id, client_secret }: Awaited<ReturnType<typeof account>>, scope?: string) => {
    const body = { grant_type: 'client_credentials', client_id, client_secret, ...(scope ? { scope } : {}) }
    const answer = await fetch(`http://127.0.0.1:${port}/v0/oauth/token`, {
      method: 'POST',
      body: JSON.stringify(body),
    })
    return ((await answer.json()) as { access_token: string }).access_token
  }
  return { api, ask, account, tokenOf, wait: (ms: number) => void (later += ms) }
}

/** What a refusal says: status, code and reason. */
const said = ({ status, body }: Answered): string => {
  if (status !== 401 && status !== 403) return 'let in'
  const { error } = JSON.parse(body) as { error: { code: string; message: string } }
  return `${status} ${error.code} ${error.message}`
}

t.test('every address × what can be wrong with a token', async t => {
  const { api, ask, account, tokenOf, wait } = await made(t)
  const [mine, gone, theirs] = [await account(), await account(), await account('other')]
  const old = await tokenOf(mine)
  const [head, body, signature = ''] = old.split('.') as [string, string, string]
  const cases: [string, string | undefined, RegExp][] = [
    ['none', undefined, /^401 AUTHENTICATION_REQUIRED/],
    [
      'another signature',
      `${head}.${body}.${signature.replace(/^./, one => (one === 'A' ? 'B' : 'A'))}`,
      /^401 .*valid/,
    ],
    ['no signature', `${head}.${body}.`, /^401 AUTHENTICATION_FAILED/],
    ['without the scope', await tokenOf(mine, 'sandboxes:list jobs:get'), /^403 FORBIDDEN .*sandboxes:control/],
    ['of another workspace', await tokenOf(theirs), /^403 FORBIDDEN/],
    ['of an account that is gone', await tokenOf(gone), /^401 .*revoked/],
    ['with the scope', await tokenOf(mine, 'sandboxes:control'), /^let in/],
    ['with every scope', await tokenOf(mine), /^let in/],
  ]
  await api('DELETE', `/service_accounts/${gone.client_id}?workspace=default`)
  const tried = async (name: string, token: string | undefined, expected: RegExp) => {
    for (const place of places)
      for (const header of ['authorization', 'x-svc-authorization']) {
        const answer = await ask(place, token === undefined ? {} : { [header]: `Bearer ${token}` })
        t.match(said(answer), expected, `${name}, ${header}: ${place.method} ${place.host ?? ''}${place.path}`)
      }
  }
  for (const one of cases) await tried(...one)
  wait(2 * 3_600_000 + 1_000)
  await tried('over', old, /^401 .*expired/)
})
