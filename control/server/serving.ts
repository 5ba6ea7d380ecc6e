/** The sockets of a host: its main listener, with TLS or without, and beside TLS the one that leads there from plain HTTP. */
import type { Socket } from 'node:net'
import type { Closing } from '../../shared/closing.ts'
import { listen, type Listening } from '../../shared/http/listen.ts'
import { serveSecure } from '../../shared/http/secure-server.ts'
import { serveWith, type ApiServer, type Listener } from '../../shared/http/server.ts'
import type { FrontListener } from './front.ts'
import { openLane } from '../../shared/lane/lane.ts'
import type { Config } from '../base/config.ts'
import { speaksTls } from '../base/config/tls.ts'
import { createNewcomers, type Newcomers } from './proxy/gateway/newcomers.ts'
import { listenFailure } from '../base/listening.ts'
import { isMovable, move, worthBytes } from '../base/relay/move.ts'
import { httpAnswer } from './tls/acme/challenges.ts'
import { divert } from './tls/divert.ts'
import { redirectServer } from './tls/redirect.ts'
import { openSources, type SourceDeps, type Sources } from './tls/sources.ts'

export interface Served {
  readonly port: number
  /** Of the listener that leads on from plain HTTP. */
  readonly httpPort?: number
}

interface Deps extends SourceDeps {
  readonly newcomers: Newcomers
}

/** Bytes of a request's head, its target included: who has not said yet who they are is to cost little. */
const maxHeadBytes = 64 * 1024
const maxHeadPieces = 16

/** Long bodies of what the gateway passes on. */
const mover = { isMovable, move, worthBytes }

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

const hstsOf = (seconds: number) => ({ name: 'strict-transport-security', value: `max-age=${seconds}` })

const withHsts = (on: Listener, seconds: number): Listener =>
  seconds === 0
    ? on
    : {
        ...on,
        request(message, response) {
          const { name, value } = hstsOf(seconds)
          response.setHeader(name, value)
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

const secureServer = (config: Config, on: FrontListener, sources: Sources, { clock, newcomers }: Deps) => {
  const { hstsSeconds } = config.tls
  const contextFor = async (name: string) => (await sources.find(name))?.context
  const server = serveSecure(withHsts(on, hstsSeconds), { maxHeadBytes, contextFor })
  const always = hstsSeconds > 0 ? hstsOf(hstsSeconds) : undefined
  openLane(server, { take: on.take, clock, maxHeadBytes, maxHeadPieces, always, mover })
  sources.onFirst(({ cert, key }) => server.setSecureContext({ cert, key }))
  divert(server, sources.challenges.alpn, clock)
  watchNewcomers(server, newcomers)
  return server
}

const serveTls = async (config: Config, on: FrontListener, deps: Deps, closer: Closing): Promise<Served> => {
  const { host, tls } = config
  const sources = await openSources(config, deps, closer)
  const { port } = await listenAt(secureServer(config, on, sources, deps), config, closer)
  const redirect = redirectServer(port, url => httpAnswer(sources.challenges, url))
  // Nobody says there who they are: the oldest goes when there are too many.
  redirect.on('connection', createNewcomers().add)
  const plain = tls.httpPort === undefined ? undefined : await listenAt(redirect, { host, port: tls.httpPort }, closer)
  sources.begin()
  return plain ? { port, httpPort: plain.port } : { port }
}

/** Listens. Throws `unavailable` for an address that cannot be had, `invalid_argument` for certificates that cannot be used. */
export const serveFront = async (config: Config, on: FrontListener, deps: Deps, closer: Closing): Promise<Served> => {
  if (speaksTls(config.tls)) return serveTls(config, on, deps, closer)
  const server = serveWith(on, { maxHeadBytes })
  openLane(server, { take: on.take, clock: deps.clock, maxHeadBytes, maxHeadPieces, mover })
  server.on('connection', deps.newcomers.add)
  return { port: (await listenAt(server, config, closer)).port }
}
