/** What is held in memory of requests that are under way: their heads, and whole bodies of those that are changed. */
import type { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import type { Tenant } from '../tenant.ts'
import type { OpenRequest } from '../under-way.ts'
import type { Origin } from './origin.ts'
import type { Judged } from './judge.ts'

/** Bytes that are held for one sandbox at a time. */
const most = { heldBytes: 64 * 1024 * 1024, headBytes: 32 * 1024 * 1024 } as const

/** Takes room until the exchange closes; false, and an event, when the sandbox has too much under way. */
export const roomFor = (
  { tenant, port }: Origin,
  { host, requestId }: Judged,
  length: number,
  exchange: EventEmitter & { readonly destroyed: boolean },
  what: keyof typeof most = 'heldBytes',
): boolean => {
  // Ended while it was judged: it would never close again, and keep what it took.
  if (exchange.destroyed || takeRoom(tenant, length, exchange, what)) return true
  tenant.events.add({ kind: 'request', verdict: 'blocked', reason: 'limit', requestId, host, port })
  return false
}

/** The same without a word; the exchange has not closed yet. */
export const takeRoom = (
  tenant: Tenant,
  length: number,
  exchange: Pick<EventEmitter, 'once'>,
  what: keyof typeof most = 'heldBytes',
): boolean => {
  if (tenant[what] + length > most[what]) return false
  tenant[what] += length
  exchange.once('close', () => (tenant[what] -= length))
  return true
}

/** Resolves with the body, or undefined when it does not have the length it was to have. */
export const collect = (body: Readable, length: number): Promise<Buffer | undefined> =>
  new Promise(resolve => {
    const pieces: Buffer[] = []
    let seen = 0
    body.on('data', (piece: Buffer) => {
      seen += piece.length
      if (seen > length) resolve(undefined)
      else pieces.push(piece)
    })
    body.on('end', () => resolve(seen === length ? Buffer.concat(pieces) : undefined))
    body.on('close', () => resolve(undefined))
    body.on('error', () => resolve(undefined))
  })

/** A request that was let through is under way until `exchange` closes; undefined where there is no room for its head. */
export const keepRequest = (
  origin: Origin,
  judged: Judged,
  exchange: EventEmitter & { readonly destroyed: boolean },
  end: () => void,
): OpenRequest | undefined => {
  const { host, facts, bytes } = judged
  const { open } = origin.tenant
  if (!roomFor(origin, judged, bytes, exchange, 'headBytes')) return undefined
  const request = { host, facts, read: true, sent: false, end }
  // One that has ended does not close again.
  if (exchange.destroyed) return request
  open.add(request)
  exchange.once('close', () => open.delete(request))
  return request
}
