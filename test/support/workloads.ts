/** A host in this process whose machines run small servers of their own, each at an address of its own on loopback. */
import { once } from 'node:events'
import {
  createServer,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { MachineSpec } from '../../control/drivers/driver.ts'
import { testHost, type HostOptions } from './whole-host.ts'

export interface Served {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export type App = (spec: MachineSpec, message: IncomingMessage, response: ServerResponse) => void

/** Says its version and which machine it is; waits when it is told to. */
const app: App = ({ env, id }, message, response) => {
  const { url = '/' } = message
  const { pathname, searchParams } = new URL(url, 'http://a')
  const answer = () => response.end(pathname === '/machine' ? id : (env['VERSION'] ?? ''))
  if (pathname === '/die') {
    const { server } = message.socket as unknown as { server: Server }
    server.close()
    response.setHeader('connection', 'close').end('bye')
  } else if (pathname === '/wait') setTimeout(answer, Number(searchParams.get('ms')))
  else answer()
}

const listening = async (
  handler: (message: IncomingMessage, response: ServerResponse) => void,
  host: string,
  port: number,
) => {
  const server = createServer(handler)
  server.listen(port, host)
  await once(server, 'listening')
  return server
}

let machines = 0

/** `VERSION=deaf` listens nowhere. */
export const workloadHost = async (t: Test, options: HostOptions = {}, own: App = app) => {
  const made = await testHost(t, {
    ...options,
    config: { startupMs: 1_000, ...options.config },
    async serve(spec) {
      machines++
      // Of this process alone.
      const host = `127.${(process.pid % 200) + 10}.${(Math.floor(process.pid / 200) % 200) + 1}.${machines + 1}`
      const daemon = await listening(
        (_message, response) =>
          response
            .setHeader('content-type', 'application/json')
            .end(JSON.stringify({ keepAlive: 0, drives: { uidMap: '', gidMap: '' } })),
        host,
        0,
      )
      const isDeaf = spec.env['VERSION'] === 'deaf'
      const server = isDeaf
        ? undefined
        : await listening((message, response) => own(spec, message, response), host, Number(spec.env['PORT'] ?? 80))
      const close = () => {
        for (const one of [daemon, server]) {
          one?.closeAllConnections()
          one?.close()
        }
      }
      t.teardown(close)
      return { host, port: (daemon.address() as AddressInfo).port, close }
    },
  })
  const { url } = await made.host.listen()
  const key = made.host.first.adminKey
  const call = async (path: string, headers: Record<string, string> = {}, body?: string): Promise<Served> => {
    const asked = request(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
    asked.end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return { status: answer.statusCode ?? 0, headers: answer.headers, text: await text(answer) }
  }
  return {
    ...made,
    url,
    key,
    call,
    /** Creates or changes an agent whose servers say that they are of this version. */
    async deploy(name: string, version: string, more: { runtime?: object; [member: string]: unknown } = {}) {
      const { runtime, ...spec } = more
      const body = {
        metadata: { name },
        spec: {
          runtime: { image: 'base', entrypoint: 'serve', envs: [{ name: 'VERSION', value: version }], ...runtime },
          ...spec,
        },
      }
      const known = (await made.api('GET', `/agents/${name}`)).status === 200
      return (await made.api(known ? 'PUT' : 'POST', known ? `/agents/${name}` : '/agents', body)).body
    },
    /** Polls an agent until it has the status. */
    async reached(name: string, status: string) {
      for (const end = performance.now() + 60_000; ; ) {
        const { body } = await made.api('GET', `/agents/${name}`)
        if (body.status === status) return body
        if (performance.now() > end || (body.status === 'FAILED' && status !== 'FAILED'))
          throw new Error(`${name} is ${JSON.stringify(body)}, not ${status}`)
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    },
    revisions: async (name: string) => (await made.api('GET', `/agents/${name}/revisions`)).body,
  }
}
