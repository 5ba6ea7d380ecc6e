/** The daemon inside a sandbox, spoken to by its declared routes; the sandbox stays awake until `use` is done with it. */
import type { Client } from '../../shared/http/client/index.ts'
import { daemonAt } from '../core/channel/client.ts'
import type { Connections } from '../core/channel/connections.ts'
import type { Reach } from '../core/machines/reach.ts'
import type { Owner } from '../core/store/store.ts'

/** Waits until a machine of the owner is up and runs `use` with its daemon. Failures are those of the client. */
export type DaemonCall = <T>(owner: Owner, use: (daemon: Client) => Promise<T>, signal?: AbortSignal) => Promise<T>

/** The same for what comes piece by piece: the sandbox stays awake until the loop over it ends. */
export type DaemonEvents = <T>(
  owner: Owner,
  events: (daemon: Client) => AsyncIterable<T>,
  signal?: AbortSignal,
) => AsyncIterable<T>

/** Removing a large tree takes its time; a directory may have many files. */
const bounds = { timeoutMs: 10 * 60_000, maxBytes: 64 * 1024 * 1024 }

interface Deps extends Pick<Reach, 'hold'> {
  readonly connections: Connections
}

const never = new AbortController().signal

export const daemonEvents = ({ hold, connections }: Deps): DaemonEvents =>
  async function* (owner, events, signal = never) {
    const { upstream, release } = await hold(owner, signal)
    try {
      yield* events(daemonAt(connections, upstream, 'client', bounds))
    } finally {
      release()
    }
  }

/** Calls under way reject when the connections are closed. */
export const daemonCalls =
  ({ hold, connections }: Deps): DaemonCall =>
  async (owner, use, signal = never) => {
    const { upstream, release } = await hold(owner, signal)
    try {
      // What a library does for its caller, a client could do through the gateway.
      return await use(daemonAt(connections, upstream, 'client', bounds))
    } finally {
      release()
    }
  }
