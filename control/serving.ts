/** The sockets of a host: its main listener, with TLS or without, and beside TLS the one that leads there from plain HTTP. */
import type { Socket } from 'node:net'
import type { Closing } from '../shared/closing.ts'
import { listen, type Listening } from '../shared/http/listen.ts'
import { serveSecure } from '../shared/http/secure-server.ts'
import { serveWith, type ApiServer, type Listener } from '../shared/http/server.ts'
import type { Config } from './config.ts'
import { speaksTls } from './config/tls.ts'
import { createNewcomers, type Newcomers } from './gateway/newcomers.ts'
import { listenFailure } from './listening.ts'
import type { Parts } from './parts.ts'
import { openCertificates, type Certificates } from './tls/certificates.ts'
import { redirectServer } from './tls/redirect.ts'

export interface Served {
  readonly port: number
  /** Of the listener that leads on from plain HTTP. */
  readonly httpPort?: number
}

interface Deps extends Pick<Parts, 'clock' | 'log'> {
  readonly newcomers: Newcomers
}

/** Bytes of a request's head, its target included: who has not said yet who they are is to cost little. */
const maxHeadBytes = 64 * 1024

const listenAt = async (
  server: ApiServer,
  place: Pick<Config, 'host' | 'port'>,
  closer: Closing,
): Promise<Listening> => {
  const listening = await listen(server, place).catch((error: unknown) => {
    throw listenFailure(error, place)
  })
  closer.add('http', () => listening.close(5_000))
  return listening
}

const withHsts = (on: Listener, seconds: number): Listener =>
  seconds === 0
    ? on
    : {
        ...on,
        request(message, response) {
          response.setHeader('strict-transport-security', `max-age=${seconds}`)
          on.request(message, response)
        },
      }

/** Handshakes are bounded apart: what is under them becomes another socket when they are over. */
const watchNewcomers = (server: ReturnType<typeof serveSecure>, newcomers: Newcomers): void => {
  const handshakes = createNewcomers()
  const plain = new Map<string, Socket>()
  const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    plain.set(key, socket)
    socket.once('close', () => plain.delete(key))
    handshakes.add(socket)
  })
  server.on('secureConnection', socket => {
    handshakes.admitted(plain.get(keyOf(socket)))
    newcomers.add(socket)
  })
}

const secureServer = async (config: Config, on: Listener, { clock, log, newcomers }: Deps, closer: Closing) => {
  const useFirst = (certificates: Certificates) => {
    const first = certificates.first()
    if (first) server.setSecureContext({ cert: first.cert, key: first.key })
  }
  const certificates = await openCertificates(config.tls, { clock, log }, useFirst)
  closer.add('certificates', certificates.close)
  const contextFor = async (name: string) => certificates.find(name)?.context
  const server = serveSecure(withHsts(on, config.tls.hstsSeconds), { maxHeadBytes, contextFor })
  useFirst(certificates)
  watchNewcomers(server, newcomers)
  return server
}

/** Listens. Throws `unavailable` for an address that cannot be had, `invalid_argument` for certificates that cannot be used. */
export const serveFront = async (config: Config, on: Listener, deps: Deps, closer: Closing): Promise<Served> => {
  const { host, tls } = config
  if (!speaksTls(tls)) {
    const server = serveWith(on, { maxHeadBytes })
    server.on('connection', deps.newcomers.add)
    return { port: (await listenAt(server, config, closer)).port }
  }
  const { port } = await listenAt(await secureServer(config, on, deps, closer), config, closer)
  if (tls.httpPort === undefined) return { port }
  const plain = await listenAt(
    redirectServer(() => port),
    { host, port: tls.httpPort },
    closer,
  )
  return { port, httpPort: plain.port }
}
