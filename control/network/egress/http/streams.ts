/** Two streams of HTTP/2 that carry one exchange. */
import {
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { errno } from '../../../../shared/errors.ts'
import type { Engine } from '../engine.ts'

const { NGHTTP2_CANCEL } = constants

/** For handlers of events: what they throw would end the server, and both sides say what makes node:http2 throw. */
export const guarded =
  <T extends unknown[]>(engine: Engine, stream: ServerHttp2Stream | ClientHttp2Stream, handle: (...said: T) => void) =>
  (...said: T): void => {
    if (stream.destroyed || stream.closed) return
    try {
      handle(...said)
    } catch (error) {
      engine.log.error('egress.stream.failed', { error })
      stream.close(NGHTTP2_CANCEL)
    }
  }

/** What is one side's end is the other's. */
export const tie = (client: ServerHttp2Stream, server: ClientHttp2Stream): void => {
  const code = (of: ServerHttp2Stream | ClientHttp2Stream) => of.rstCode || NGHTTP2_CANCEL
  client.on('error', () => server.close(code(client)))
  server.on('error', () => client.close(code(server)))
  client.once('aborted', () => server.close(code(client)))
  server.once('aborted', () => client.close(code(server)))
  client.once('close', () => server.close(code(client)))
  server.once('close', () => {
    if (server.rstCode !== 0 || !client.headersSent) client.close(code(server))
  })
}

/** Undefined where node:http2 does not send such headers: one that may stand once stands twice, for example. */
export const request = (
  server: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  options: ClientSessionRequestOptions,
): ClientHttp2Stream | undefined => {
  try {
    return server.request(headers, options)
  } catch (error) {
    if (/^ERR_HTTP2_(?:HEADER|INVALID_(?:HEADER|CONNECTION|PSEUDO))/.test(errno(error) ?? '')) return undefined
    throw error
  }
}
