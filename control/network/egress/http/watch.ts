/** Looks for canaries in what a sandbox says, piece by piece, before each piece goes on. */
import type { EventEmitter } from 'node:events'
import { Transform } from 'node:stream'
import type { Clock } from '../../../../shared/clock.ts'
import type { CanarySearch } from '../events/canary.ts'
import { takeRoom } from './collect.ts'
import { decodingOf, type Decoding } from './decode.ts'
import { createFrameReader } from './frames.ts'
import { tellCanary, type Judged } from './judge.ts'
import type { Origin } from './origin.ts'

export interface Watched {
  readonly clock: Pick<Clock, 'after'>
  readonly origin: Origin
  readonly judged: Pick<Judged, 'host' | 'requestId'>
  /** Closes when it is over. */
  readonly exchange: EventEmitter & { readonly destroyed: boolean }
  /** Ends it: what follows cannot be looked at, and the policy does not let that pass. */
  end(): void
}

/** Undefined where nothing is to be looked for. */
export const searchFor = (origin: Origin, { host, requestId }: Watched['judged']): CanarySearch | undefined =>
  origin.tenant.canaries.names.length === 0
    ? undefined
    : origin.tenant.canaries.search(name => tellCanary(origin, host, requestId, name))

/** Says that something goes on without having been looked at; true when the policy stops it for that. */
const tellUnsearched = ({ origin, judged }: Watched, why: string): boolean => {
  const { tenant, port, scheme } = origin
  const { canary, mode } = tenant.policy.source
  const stops = canary === 'strict' && mode === 'enforce'
  tenant.events.add({
    kind: 'canary',
    verdict: stops ? 'blocked' : canary === 'strict' ? 'would_block' : 'allowed',
    reason: 'not_searched',
    requestId: judged.requestId,
    host: judged.host,
    port,
    protocol: scheme,
    detail: why,
  })
  return stops
}

/** Passes pieces on that have been looked at; those that `look` never lets go stay here until the exchange is over. */
const passOn = (
  { exchange }: Watched,
  look: (piece: Buffer, goOn: () => void) => void,
  finish: (goOn: () => void) => void,
): Transform => {
  const stream = new Transform({
    transform: (piece: Buffer, _encoding, done) => look(piece, () => done(null, piece)),
    flush: done => finish(() => done()),
  })
  stream.on('error', () => {})
  exchange.once('close', () => stream.destroy())
  return stream
}

const restMs = 50
/** Canaries that are looked for at the price of one. */
const cheap = 16

/** A few bytes that were sent may be many when they are decoded, and each costs the host a look for every canary: only so many a second. */
const pacing = ({ clock, origin: { tenant } }: Watched): ((goOn: () => void) => boolean) => {
  const price = Math.ceil(tenant.canaries.names.length / cheap)
  const mayGoOn = (goOn: () => void): boolean => {
    if (tenant.decoded.take(price)) return true
    clock.after(restMs, () => void (mayGoOn(goOn) && goOn()))
    return false
  }
  return mayGoOn
}

const watchDecoded = (watched: Watched, search: CanarySearch, decoding: Decoding): Transform => {
  let isStopped = false
  const decoder = decoding.begin({
    piece: search.piece,
    mayGoOn: pacing(watched),
    gaveUp(why) {
      isStopped = tellUnsearched(watched, why)
      if (isStopped) watched.end()
    },
  })
  watched.exchange.once('close', decoder.destroy)
  const unless = (goOn: () => void) => () => {
    if (!isStopped) goOn()
  }
  return passOn(
    watched,
    (piece, goOn) => decoder.write(piece, unless(goOn)),
    goOn => decoder.end(unless(goOn)),
  )
}

/**
 * What a request's body has to go through; undefined where there is nothing to look for. A reason says why the request may not be made:
 * its body could not be looked at, and the policy does not let that pass.
 */
export const watchBody = (watched: Watched, codings: readonly string[]): Transform | 'not_searched' | undefined => {
  const { origin, judged, exchange } = watched
  const search = searchFor(origin, judged)
  if (!search || exchange.destroyed) return undefined
  if (codings.length === 0)
    return passOn(
      watched,
      (piece, goOn) => {
        search.piece(piece)
        goOn()
      },
      goOn => goOn(),
    )
  const decoding = decodingOf(codings)
  const why = decoding ? 'too much is looked at' : `coded as ${codings.join(', ')}`
  if (decoding && takeRoom(origin.tenant, decoding.room, exchange)) return watchDecoded(watched, search, decoding)
  return tellUnsearched(watched, why) ? 'not_searched' : undefined
}

/** What a client's side of a WebSocket has to go through; undefined where there is nothing to look for. */
export const watchFrames = (watched: Watched): Transform | undefined => {
  const search = searchFor(watched.origin, watched.judged)
  if (!search) return undefined
  const read = createFrameReader({ piece: search.piece, control: bytes => search.text(bytes.toString('latin1')) })
  let isRead = true
  return passOn(
    watched,
    (piece, goOn) => {
      const problem = isRead ? read(piece) : undefined
      if (problem !== undefined) {
        isRead = false
        if (tellUnsearched(watched, problem)) return watched.end()
      }
      goOn()
    },
    goOn => goOn(),
  )
}

/** Without the offer to pack what is said: what is packed could not be looked at piece by piece. */
export const withoutPacking = ({ tenant }: Origin, headers: readonly string[]): string[] =>
  tenant.canaries.names.length === 0
    ? [...headers]
    : headers.filter((_, at) => (headers[at - (at % 2)] as string).toLowerCase() !== 'sec-websocket-extensions')
