/**
 * One protocol server for all requests: this transport gives each request an id of its own, which keeps the calls of
 * different clients apart. The SDK's HTTP transport wants a server per request in stateless use, which would declare
 * all tools again each time.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js'
import type { Context } from '../route.ts'
import type { RpcRequest } from './rpc.ts'

interface Mux extends Transport {
  /** Resolves with the answer to a request, under the id that the client gave; rejects when the client is gone. */
  request(message: RpcRequest, context: Context): Promise<JSONRPCMessage>
  /** The HTTP call of the request with this inner id. */
  contextOf(id: RequestId): Context | undefined
}

interface Pending {
  readonly outer: RequestId
  readonly context: Context
  resolve(message: JSONRPCMessage): void
}

export const createMux = (): Mux => {
  const pending = new Map<RequestId, Pending>()
  let next = 0
  const self: Mux = {
    async start() {},
    async close() {
      self.onclose?.()
    },
    async send(message) {
      // Without sessions there is no one to send the server's notifications to.
      if (!('id' in message) || 'method' in message || message.id === undefined) return
      const waiting = pending.get(message.id)
      pending.delete(message.id)
      waiting?.resolve({ ...message, id: waiting.outer })
    },
    request: (message, context) =>
      new Promise((resolve, reject) => {
        const id = ++next
        pending.set(id, { outer: message.id, context, resolve })
        context.signal.addEventListener(
          'abort',
          () => {
            if (pending.delete(id)) reject(context.signal.reason)
          },
          { once: true },
        )
        self.onmessage?.({ ...message, id } as JSONRPCMessage)
      }),
    contextOf: id => pending.get(id)?.context,
  }
  return self
}
