/** What listens in a sandbox, and requests to it, as `{sandbox}/port/{port}/…` does them over HTTP. */
import type { Connections } from '../core/channel/connections.ts'
import { fail } from '../../shared/errors.ts'
import type { Out } from '../../shared/schema.ts'
import { listPorts, type port as portShape } from '../../shared/wire/network.ts'
import type { Reach } from '../core/machines/reach.ts'
import type { Owner } from '../core/store/store.ts'
import type { DaemonCall } from './daemon.ts'

export interface PortRequest {
  /** GET unless given. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
}

export interface Ports {
  /** Sockets of a process, by its pid, and of its descendants. */
  of(pid: number): Promise<Out<typeof portShape>[]>
  /**
   * Sends a request to what listens on `port`; resolves with the whole answer, of at most 64 MiB. Throws `upstream_failed` when
   * nothing does, `upstream_malformed` for a longer answer.
   */
  fetch(port: number, path: string, request?: PortRequest): Promise<Response>
}

/** Of an answer: what listens there is a tenant's. */
const bounds = { timeoutMs: 10 * 60_000, maxBytes: 64 * 1024 * 1024 }

/** Throws `upstream_malformed` for one that is longer. */
const wholeOf = async (body: AsyncIterable<Uint8Array>, port: number): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    size += piece.byteLength
    if (size > bounds.maxBytes)
      throw fail('upstream_malformed', { port, reason: `it answered more than ${bounds.maxBytes} bytes` })
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** These statuses have no body, and a `Response` refuses one. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

export const ports = (
  ownerOf: () => Promise<Owner>,
  deps: Pick<Reach, 'hold'> & { call: DaemonCall; connections: Connections },
): Ports => {
  const { call, hold, connections } = deps
  return {
    of: async pid =>
      (await call(await ownerOf(), daemon => daemon.ask(listPorts, { params: { pid: String(pid) } }))).ports,
    async fetch(port, path, { method = 'GET', headers = {}, body, signal = new AbortController().signal } = {}) {
      if (!Number.isInteger(port) || port < 1 || port > 65_535)
        throw fail('invalid_argument', { field: 'port', reason: 'must be between 1 and 65535' })
      const { upstream, release } = await hold(await ownerOf(), signal)
      const ended = AbortSignal.any([signal, AbortSignal.timeout(bounds.timeoutMs)])
      try {
        const pool = connections.pool({ address: upstream, port })
        const asked = { method, path, headers, signal: ended, ...(body === undefined ? {} : { body }) }
        const answer = await pool.request(asked as Parameters<typeof pool.request>[0]).catch((error: unknown) => {
          if (signal.aborted) throw signal.reason
          throw fail('upstream_failed', { reason: `nothing answers on port ${port} of the sandbox` }, error)
        })
        const bytes = await wholeOf(answer.body, port)
        const fields = Object.entries(answer.headers).flatMap(([name, value]) =>
          [value ?? []].flat().map((one): [string, string] => [name, one]),
        )
        const { statusCode: status } = answer
        if (status > 599) throw fail('upstream_malformed', { port, reason: `its status is ${status}` })
        return new Response(bodiless.has(status) ? null : bytes, { status, headers: fields })
      } finally {
        release()
      }
    },
  }
}
