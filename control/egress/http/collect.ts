/** A whole body in memory, for those that are changed. */
import type { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import type { Origin } from './origin.ts'
import type { Judged } from './judge.ts'

/** Bytes of bodies that are held for one sandbox at a time. */
const mostHeld = 64 * 1024 * 1024

/** Takes room for a body until the exchange closes; false, and an event, when the sandbox has too much under way. */
export const roomFor = (
  { tenant, port }: Origin,
  { host, requestId }: Judged,
  length: number,
  exchange: EventEmitter & { readonly destroyed: boolean },
): boolean => {
  // Ended while it was judged: it would never close again, and keep what it took.
  if (exchange.destroyed) return true
  if (tenant.heldBytes + length > mostHeld) {
    tenant.events.add({ kind: 'request', verdict: 'blocked', reason: 'limit', requestId, host, port })
    return false
  }
  tenant.heldBytes += length
  exchange.once('close', () => (tenant.heldBytes -= length))
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
