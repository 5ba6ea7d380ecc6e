/** What listens in a sandbox, and requests to it, as `{sandbox}/port/{port}/…` does them over HTTP. */
import { buffer } from 'node:stream/consumers'
import type { Connections } from '../channel/connections.ts'
import { fail } from '../../shared/errors.ts'
import type { Out } from '../../shared/schema.ts'
import { listPorts, type port as portShape } from '../../shared/wire/network.ts'
import type { Reach } from '../instances/reach.ts'
import type { Owner } from '../store/store.ts'
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
  /** Sends a request to what listens on `port`; resolves with the whole answer. Throws `upstream_failed` when nothing does. */
  fetch(port: number, path: string, request?: PortRequest): Promise<Response>
}

/** These statuses have no body, and a `Response` refuses one. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

export const ports = (
  ownerOf: () => Promise<Owner>,
  deps: Reach & { call: DaemonCall; connections: Connections },
): Ports => {
  const { call, hold, connections } = deps
  return {
    of: async pid =>
      (await call(await ownerOf(), daemon => daemon.ask(listPorts, { params: { pid: String(pid) } }))).ports,
    async fetch(port, path, { method = 'GET', headers = {}, body, signal = new AbortController().signal } = {}) {
      if (!Number.isInteger(port) || port < 1 || port > 65_535)
        throw fail('invalid_argument', { field: 'port', reason: 'must be between 1 and 65535' })
      const { upstream, release } = await hold(await ownerOf(), signal)
      try {
        const pool = connections.pool({ address: upstream, port }, 'client')
        const asked = { method, path, headers, signal, ...(body === undefined ? {} : { body }) }
        const answer = await pool.request(asked as Parameters<typeof pool.request>[0]).catch((error: unknown) => {
          if (signal.aborted) throw signal.reason
          throw fail('upstream_failed', { reason: `nothing answers on port ${port} of the sandbox` }, error)
        })
        const bytes = await buffer(answer.body)
        const fields = Object.entries(answer.headers).flatMap(([name, value]) =>
          [value ?? []].flat().map((one): [string, string] => [name, one]),
        )
        const { statusCode: status } = answer
        return new Response(bodiless.has(status) ? null : bytes, { status, headers: fields })
      } finally {
        release()
      }
    },
  }
}
