/** A host in this process whose sandbox "web" has an application, and previews of it. */
import { EventEmitter, once } from 'node:events'
import { createServer, request, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { WebSocketServer } from 'ws'
import { testHost, type HostOptions } from './whole-host.ts'

/** An application that says what it saw, and sets a cookie. Some of its pages are there to go wrong. */
const application = async (t: Test) => {
  const heard = new EventEmitter()
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer((asked, response) => {
    const { url, method, headers } = asked
    if (url === '/body') return void asked.pipe(response)
    if (url?.startsWith('/says?')) {
      for (const [name, value] of new URLSearchParams(url.slice('/says?'.length))) response.setHeader(name, value)
      return void response.end()
    }
    if (url === '/falls') {
      response.write('begun')
      return void setImmediate(() => response.destroy())
    }
    if (url === '/stream') {
      asked.on('data', piece => heard.emit('piece', String(piece)))
      asked.on('end', () => heard.emit('ended', 'whole')).on('error', () => heard.emit('ended', 'aborted'))
      return
    }
    response.setHeader('set-cookie', 'app=1')
    response.setHeader('x-frame-options', 'DENY')
    response.end(JSON.stringify({ url, method, headers }))
  })
  server.on('upgrade', (asked, socket, head) =>
    sockets.handleUpgrade(asked, socket, head, client =>
      client.send(JSON.stringify({ url: asked.url, headers: asked.headers })),
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const client of sockets.clients) client.terminate()
    server.closeAllConnections()
    server.close()
  })
  return { appPort: (server.address() as AddressInfo).port, heard }
}

interface Seen {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export const previewHost = async (t: Test, options: HostOptions = {}) => {
  const made = await testHost(t, {
    ...options,
    serve: async () => {
      // A daemon that has nothing to do.
      const idle = JSON.stringify({ keepAlive: 0, drives: { uidMap: '', gidMap: '' } })
      const said = { 'content-type': 'application/json' }
      const server = createServer((_, response) => response.writeHead(200, said).end(idle)).listen(0, '127.0.0.1')
      await once(server, 'listening')
      t.teardown(() => void server.close())
      return {
        host: '127.0.0.1',
        port: (server.address() as AddressInfo).port,
        close: () => server.closeAllConnections(),
      }
    },
  })
  const { url, port, httpPort } = await made.host.listen()
  const { appPort, heard } = await application(t)
  const spec = { runtime: { image: 'busybox' } }
  t.equal((await made.api('POST', '/sandboxes', { metadata: { name: 'web' }, spec })).status, 200)
  const get = async (
    host: string,
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
  ): Promise<Seen> => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers: { host, ...headers } }).end()
    const [answer] = await once(asked, 'response')
    const said = await text(answer)
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: said,
      body: said.startsWith('{') ? JSON.parse(said) : undefined,
    }
  }
  const preview = async (name: string, given: object = {}) => {
    const body = { metadata: { name }, spec: { port: appPort, public: true, ...given } }
    const answer = await made.api('POST', '/sandboxes/web/previews', body)
    if (answer.status !== 200) throw new Error(answer.text)
    const address = answer.body.spec.url as string
    const id = address.split('/').at(-1) as string
    return { answer: answer.body, address, path: address.slice(url.length), host: `${id}.preview.localhost:${port}` }
  }
  const token = async (name: string, given: object = {}) => {
    const body = { metadata: { name: 'guest' }, spec: given }
    return (await made.api('POST', `/sandboxes/web/previews/${name}/tokens`, body)).body.spec.token as string
  }
  return {
    ...made,
    url,
    port,
    httpPort,
    appPort,
    local: `127.0.0.1:${port}`,
    get,
    preview,
    token,
    /** The next thing that the application tells of a request to /stream. */
    said: async (event: 'piece' | 'ended'): Promise<string> => String((await once(heard, event))[0]),
  }
}
