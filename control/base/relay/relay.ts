/** Passes bytes between two connections without looking at them, until both are done. */
import type { Socket } from 'node:net'
import { endGently } from '../../../shared/end-gently.ts'

export interface Relay {
  /**
   * Joins the two; bytes that were read ahead of either go first. `ended` is called once, when both directions are done or one
   * has failed. The sockets belong to the relay from here on. Returns a function that ends it at once.
   */
  join(client: Socket, server: Socket, ended: () => void): () => void
}

/** In JavaScript: works for every kind of stream. */
export const streamRelay: Relay = {
  join(client, server, ended) {
    let open = 2
    const end = () => {
      client.destroy()
      server.destroy()
    }
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      // The event 'close' follows an error.
      one.on('error', () => {})
      one.once('close', () => {
        endGently(other)
        if (--open === 0) ended()
      })
    }
    client.pipe(server)
    server.pipe(client)
    return end
  },
}
