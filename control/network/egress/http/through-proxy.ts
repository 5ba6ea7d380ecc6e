/**
 * A connection through the proxy that the host's network has (`HUTCH_EGRESS_PROXY`). It is told the address that was judged and not the
 * name: what it would find under the name by itself, nobody here has looked at.
 */
import { connect, type Socket } from 'node:net'
import type { Clock } from '../../../../shared/clock.ts'

/** Where an HTTP proxy listens. */
export interface HttpProxy {
  readonly host: string
  readonly port: number
}

type Through =
  | { readonly ok: true; readonly socket: Socket; readonly address: string }
  | { readonly ok: false; readonly reason: 'unreachable' | 'timeout' }

const answerMs = 10_000
/** A proxy that says more before it connects is none. */
const mostHead = 16_384

/** The answer's status and what came after its head; undefined while it is not whole. */
const readHead = (seen: Buffer): { status: number; rest: Buffer } | undefined => {
  const end = seen.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [, status = '0'] = /^HTTP\/1\.[01] (\d{3})/.exec(seen.toString('latin1', 0, end)) ?? []
  return { status: Number(status), rest: seen.subarray(end + 4) }
}

const askFor = (place: string): string => `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n`

/** The socket has no listeners of ours when it is given out. */
const connectOnce = (proxy: HttpProxy, place: string, clock: Clock): Promise<Socket | 'unreachable' | 'timeout'> =>
  new Promise(resolve => {
    const socket = connect({ ...proxy, noDelay: true })
    let seen: Buffer = Buffer.alloc(0)
    const stop = clock.after(answerMs, () => fail('timeout'))
    const fail = (reason: 'unreachable' | 'timeout') => {
      stop()
      socket.destroy()
      resolve(reason)
    }
    const onClose = () => fail('unreachable')
    // After an error comes the close.
    const onError = () => undefined
    // Not by `data`: whoever takes the socket is to decide how it flows.
    const onReadable = () => {
      seen = Buffer.concat([seen, (socket.read() as Buffer | null) ?? Buffer.alloc(0)])
      const head = readHead(seen)
      if (!head && seen.length < mostHead) return
      if (head?.status !== 200) return fail('unreachable')
      stop()
      socket.off('readable', onReadable).off('close', onClose).off('error', onError)
      if (head.rest.length > 0) socket.unshift(head.rest)
      resolve(socket)
    }
    socket.on('error', onError)
    socket.on('close', onClose)
    socket.on('readable', onReadable)
    socket.once('connect', () => socket.write(askFor(place)))
  })

/** To the first address that the proxy connects to. */
export const connectThrough = async (
  proxy: HttpProxy,
  addresses: readonly string[],
  port: number,
  clock: Clock,
): Promise<Through> => {
  let reason: 'unreachable' | 'timeout' = 'unreachable'
  for (const address of addresses.slice(0, 3)) {
    const result = await connectOnce(proxy, `${address}:${port}`, clock)
    if (typeof result !== 'string') return { ok: true, socket: result, address }
    reason = result
  }
  return { ok: false, reason }
}
