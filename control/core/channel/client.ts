/**
 * The daemon of a machine, spoken to by its declared routes. Whatever the host itself asks of a daemon it asks here: code
 * in a machine is hostile, and may be what answers.
 */
import type { Role } from '../../../shared/channel.ts'
import { createClient, type Client } from '../../../shared/http/client/index.ts'
import type { Address } from '../store/store.ts'
import type { Connections } from './connections.ts'

/** What is read of an answer at most, and how long; it has none that go without saying. */
export interface Bounds {
  /** To a whole answer, or the first byte of a stream. */
  readonly timeoutMs: number
  /** Of a whole answer, or of one line of a stream. */
  readonly maxBytes: number
}

/** A client on kept connections, which stay open when it is closed. */
export const daemonAt = (connections: Connections, address: Address, role: Role, bounds: Bounds): Client =>
  createClient({
    api: 'sandbox',
    baseUrl: `http://${address.host}:${address.port}`,
    name: 'the sandbox',
    transport: role === 'host' ? connections.questions({ address }, bounds.maxBytes) : connections.pool({ address }),
    ...bounds,
  })
