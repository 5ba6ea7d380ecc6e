/** A host of machines that say what they were asked, and a client with one connection to it. */
import { once } from 'node:events'
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { hashKey } from '../../control/core/access/keys.ts'
import { testHost, type HostOptions } from './whole-host.ts'

/** Of the sandbox that is there. */
export const web = '/default/sandboxes/web'

/** What a daemon says of itself that has nothing to do. */
const idle = { keepAlive: 0, drives: { uidMap: '', gidMap: '' } }

/** A server that says what it was asked, and who it is. */
export const echo = async (t: Test, name: string) => {
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    response.setHeader('content-type', 'application/json')
    if (url === '/endless') return void response.write('begun')
    request.resume().on('end', () => response.end(JSON.stringify({ ...idle, name, method, url, headers })))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A host of machines that say what they were asked, and one connection to it. */
export const oneConnection = async (t: Test, options: HostOptions = {}) => {
  let machines = 0
  const serve = async () => ({ host: '127.0.0.1', port: await echo(t, `machine ${++machines}`), close: () => {} })
  const made = await testHost(t, { ...options, serve })
  const { port } = await made.host.listen()
  const make = async (name: string) => {
    const spec = { runtime: { image: 'busybox' } }
    t.equal((await made.api('POST', '/sandboxes', { metadata: { name }, spec })).status, 200)
    await made.until(name, 'DEPLOYED')
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const sockets = new Set<unknown>()
  /** Asks on the one connection. */
  const ask = async (path: string, key: string, method = 'GET', more: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'user-agent': 'the same', ...more }
    const asked = httpRequest({ agent, host: '127.0.0.1', port, path, method, headers }).end()
    asked.once('socket', socket => sockets.add(socket))
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    const text = (await buffer(answer)).toString()
    // oxlint-disable-next-line typescript/no-explicit-any
    return { status: answer.statusCode, body: text ? (JSON.parse(text) as any) : undefined }
  }
  const key = async (expiresAt: number | null = null) => {
    const secret = `hutch_${Math.random().toString(36).slice(2)}`
    const { tenants } = made.host.store
    await tenants.addApiKey({
      id: hashKey(secret).slice(0, 8),
      hash: hashKey(secret),
      name: secret,
      account: 'default',
      workspace: null,
      role: 'member',
      accountAdmin: false,
      createdAt: 1,
      expiresAt,
      scopes: null,
      owner: null,
      person: null,
      defaultWorkspace: null,
    })
    return { secret, id: hashKey(secret).slice(0, 8) }
  }
  await make('web')
  /** An answer that goes on, begun on the one connection. */
  const endless = async (secret: string) => {
    const headers = { authorization: `Bearer ${secret}`, 'user-agent': 'the same' }
    const asked = httpRequest({ agent, host: '127.0.0.1', port, path: `${web}/endless`, headers }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    await once(answer, 'readable')
    return { ended: once(answer.resume(), 'error') }
  }
  return { ...made, make, ask, key, sockets, endless }
}
