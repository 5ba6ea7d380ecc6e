/** What a program in a sandbox can do to the network: everything comes from the sandbox's address. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect as connectH2, type ClientHttp2Session } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import packet from 'dns-packet'
import { addresses } from './network.ts'

export interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

export interface Sandbox {
  /** Opens a connection to anywhere; the network does with it what it does. */
  dial(host: string, port: number): Promise<Socket>
  proxy(): Promise<Socket>
  /** Sends bytes to the proxy and gives what comes back until the connection ends or is silent for a moment. */
  say(bytes: string | Buffer): Promise<string>
  /** A request in absolute form. */
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<Answer>
  request(options: {
    method?: string
    url: string
    headers?: Readonly<Record<string, string>>
    body?: string
  }): Promise<Answer>
  /** The tunnel, or the status it was refused with. */
  tunnel(authority: string, headers?: string): Promise<Socket | Answer>
  /** TLS over a socket; certificates of anybody are taken unless `ca` is given. */
  tls(socket: Socket, options: ConnectionOptions): Promise<TLSSocket>
  h2(socket: Socket, authority: string): Promise<ClientHttp2Session>
  resolve(name: string, type?: string): Promise<{ rcode: string; answers: string[] }>
}

/** Silence that ends an answer. */
const silentMs = 400

export const readAll = (socket: Socket): Promise<string> =>
  new Promise(resolve => {
    let text = ''
    let timer = setTimeout(done, silentMs * 5)
    function done() {
      clearTimeout(timer)
      socket.destroy()
      resolve(text)
    }
    socket.on('data', piece => {
      text += piece.toString('latin1')
      clearTimeout(timer)
      timer = setTimeout(done, silentMs)
    })
    socket.on('end', done)
    socket.on('close', done)
    socket.on('error', done)
  })

const dechunk = (body: string): string => {
  let text = ''
  let at = 0
  for (;;) {
    const end = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.slice(at, end), 16)
    if (end < 0 || !(size > 0)) return text
    text += body.slice(end + 2, end + 2 + size)
    at = end + 2 + size + 2
  }
}

export const parseAnswer = (text: string): Answer => {
  const end = text.indexOf('\r\n\r\n')
  const head = text.slice(0, Math.max(0, end))
  const body = text.slice(end + 4)
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0),
    head,
    body: /\r\ntransfer-encoding: chunked/i.test(head) ? dechunk(body) : body,
  }
}

/** Sends a request on a connection and reads until it ends. */
export const ask = async (socket: Socket, text: string | Buffer): Promise<Answer> => {
  socket.write(text)
  return parseAnswer(await readAll(socket))
}

/** It has happened, or never will. */
const settled = (socket: Socket, event: string): Promise<void> =>
  new Promise(resolve => {
    socket.on('error', () => resolve())
    socket.once(event, () => resolve())
    socket.once('close', () => resolve())
  })

const openSocket = async (source: string, host: string, port: number): Promise<Socket> => {
  const socket = connect({ host, port, localAddress: source, noDelay: true })
  await settled(socket, 'connect')
  return socket
}

const resolveAt = async (source: string, port: number, name: string, type: string) => {
  const socket = createSocket('udp4')
  socket.bind(0, source)
  await once(socket, 'listening')
  socket.send(
    packet.encode({ type: 'query', id: 7, flags: packet.RECURSION_DESIRED, questions: [{ type: type as 'A', name }] }),
    port,
    addresses.engine,
  )
  const answer = await Promise.race([
    once(socket, 'message'),
    new Promise<undefined>(done => setTimeout(() => done(undefined), 3_000)),
  ])
  socket.close()
  if (!answer) return { rcode: 'none', answers: [] }
  const message = packet.decode(answer[0] as Buffer)
  return {
    rcode: (message as { rcode?: string }).rcode as string,
    answers: (message.answers ?? []).map(one => String((one as { data: unknown }).data)),
  }
}

export const createSandbox = (source: string, ports: { proxy: number; dns: number }): Sandbox => {
  const dial = (host: string, port: number) => openSocket(source, host, port)
  const proxy = () => dial(addresses.engine, ports.proxy)
  const sandbox: Sandbox = {
    dial,
    proxy,
    async say(bytes) {
      const socket = await proxy()
      socket.write(bytes)
      return readAll(socket)
    },
    get: (url, headers = {}) => sandbox.request({ url, headers }),
    async request({ method = 'GET', url, headers = {}, body = '' }) {
      const all = {
        host: new URL(url).host,
        connection: 'close',
        ...(body && { 'content-length': String(Buffer.byteLength(body)) }),
        ...headers,
      }
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
      return parseAnswer(await sandbox.say(`${method} ${url} HTTP/1.1\r\n${lines.join('')}\r\n${body}`))
    },
    async tunnel(authority, headers = '') {
      const socket = await proxy()
      socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${headers}\r\n`)
      await settled(socket, 'readable')
      const answer = parseAnswer(((socket.read() as Buffer | null) ?? '').toString('latin1'))
      if (answer.status !== 200) socket.destroy()
      return answer.status === 200 ? socket : answer
    },
    async tls(socket, options) {
      const secured = connectTls({ socket, rejectUnauthorized: false, ...options })
      await settled(secured, 'secureConnect')
      return secured
    },
    async h2(socket, authority) {
      const session = connectH2(`https://${authority}`, { createConnection: () => socket })
      session.on('error', () => {})
      return session
    },
    resolve: (name, type = 'A') => resolveAt(source, ports.dns, name, type),
  }
  return sandbox
}
