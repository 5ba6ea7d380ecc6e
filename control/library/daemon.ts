/** The daemon inside a sandbox, spoken to by its declared routes; the sandbox stays awake until `use` is done with it. */
import { createClient, type Client } from '../../shared/http/client/index.ts'
import { createTransport } from '../../shared/http/client/transport.ts'
import type { Reach } from '../instances/reach.ts'
import type { Owner } from '../store/store.ts'

/** Waits until a machine of the owner is up and runs `use` with its daemon. Failures are those of the client. */
export type DaemonCall = <T>(owner: Owner, use: (daemon: Client) => Promise<T>, signal?: AbortSignal) => Promise<T>

export interface DaemonClient {
  readonly call: DaemonCall
  /** Cuts what is under way: those calls reject. */
  close(): Promise<void>
}

/** To a whole answer, or the first byte of a stream: removing a large tree takes its time. */
const timeoutMs = 10 * 60_000

export const daemonClient = (deps: Reach): DaemonClient => {
  const transport = createTransport()
  return {
    async call(owner, use, signal = new AbortController().signal) {
      const { upstream, release } = await deps.hold(owner, signal)
      try {
        const baseUrl = `http://${upstream.host}:${upstream.port}`
        return await use(createClient({ api: 'sandbox', baseUrl, name: 'the sandbox', timeoutMs, transport }))
      } finally {
        release()
      }
    },
    close: () => transport.destroy(),
  }
}
