/**
 * Requests for packages: answered from what is kept on this host, or kept while they pass. The request has been judged by then, and the
 * destination is admitted here before anything is given out, as if it were connected to.
 */
import { pipeline } from 'node:stream/promises'
import { admit } from '../admit.ts'
import type { Kept } from '../packages/table.ts'
import { hasItAlready, readSaid, validatorsOf, type Said } from '../packages/freshness.ts'
import type { PackageCache, Wanted } from '../packages/cache.ts'
import type { Exchange } from './forward.ts'
import { connectPlain, type Connected, type Origin } from './origin.ts'

/** A request whose answer may be kept. */
export interface Keeping {
  readonly cache: PackageCache
  readonly wanted: Wanted
  readonly said: Said
  /** Known, and to be asked about. */
  readonly stale: Kept | undefined
  /** Of the request as it is sent: nothing of it is the sandbox's own. */
  readonly headers: string[]
  /** The same over TLS, which alone vouches for what comes. */
  readonly origin: Origin
}

const plainPath = /^\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*$/
const cached = 'Cache-Status'

/** Over TLS also where the sandbox asks without: what is kept has to be the registry's. */
const secured = (exchange: Exchange): Origin => {
  const { engine, origin, judged } = exchange
  if (origin.scheme === 'https') return origin
  const { tenant, address } = origin
  const connect = async (): Promise<Connected> => {
    const connected = await connectPlain(engine, tenant, { host: judged.host, address, port: 443 })
    if (!connected.ok) return connected
    const made = await engine.upstreamTls.secure(connected.socket, judged.host, ['http/1.1'])
    if (made.ok) made.socket.on('error', () => made.socket.destroy())
    return made
  }
  return { ...origin, scheme: 'https', port: 443, connect }
}

/** What the request is for, when it is one that concerns nobody in particular. */
const wantedBy = ({
  engine,
  origin,
  req,
  judged,
  lines,
  target,
}: Exchange): { wanted: Wanted; said: Said } | undefined => {
  const { packages, names } = engine
  const { tenant, port, scheme } = origin
  const kind = packages?.covers(judged.host)
  if (!kind || port !== (scheme === 'https' ? 443 : 80)) return undefined
  if (req.method !== 'GET' || lines.length !== 0 || judged.injection || !plainPath.test(target)) return undefined
  // What a registry gives to an address of the owner's, or a neighbour to neighbours, it may give to no one else.
  if (tenant.sourceAddress !== undefined || tenant.neighbour(judged.host)) return undefined
  if (tenant.policy.forHost(judged.host).reason === 'bypass') return undefined
  const said = readSaid(judged.headers, names.withheld)
  return said && { said, wanted: { kind, host: judged.host, path: target, said } }
}

const requestHeaders = ({ accept, acceptEncoding }: Said, stale: Kept | undefined): string[] => {
  const { etag, lastModified } = stale ? validatorsOf(stale.headers) : { etag: '', lastModified: '' }
  return [
    'User-Agent',
    'hutch',
    ...(accept ? ['Accept', accept] : []),
    ...(acceptEncoding ? ['Accept-Encoding', acceptEncoding] : []),
    ...(etag ? ['If-None-Match', etag] : []),
    ...(lastModified ? ['If-Modified-Since', lastModified] : []),
  ]
}

const ageOf = ({ engine }: Exchange, { storedAt }: Kept): string =>
  String(Math.max(0, Math.floor((engine.clock.now() - storedAt) / 1000)))

/** Gives out what is kept. False, with nothing sent, when it cannot be read as it was. */
export const answerKept = async (
  exchange: Exchange,
  { cache, wanted, said }: Pick<Keeping, 'cache' | 'wanted' | 'said'>,
  kept: Kept,
): Promise<boolean> => {
  const { engine, res, judged } = exchange
  const added = engine.names.requestId.flatMap(name => [name, judged.requestId])
  const headers = [...kept.headers, 'Age', ageOf(exchange, kept), cached, 'outbound; hit', ...added]
  const { etag, lastModified } = validatorsOf(kept.headers)
  const file = await cache.open(wanted, kept)
  if (!file) return false
  try {
    if (hasItAlready(said, { etag, lastModified })) res.writeHead(304, headers).end()
    else {
      res.writeHead(200, [...headers, 'Content-Length', String(kept.size)])
      await pipeline(file.createReadStream({ start: 0, autoClose: false, highWaterMark: 256 * 1024 }), res)
    }
  } catch (error) {
    // Mostly a program that has gone.
    engine.log.debug('egress.packages.unsent', { error })
    res.destroy()
  } finally {
    await file.close()
  }
  return true
}

/** Answers, says how to fetch what is to be kept, or undefined: the request is like any other. */
export const fromPackages = async (exchange: Exchange): Promise<'answered' | Keeping | undefined> => {
  const { engine, origin } = exchange
  const cache = engine.packages
  const found = cache && wantedBy(exchange)
  if (!found) return undefined
  const { wanted, said } = found
  const admitted = await admit(engine.resolver, origin.tenant, {
    host: wanted.host,
    address: origin.address,
    named: true,
  })
  if (!admitted.ok) return undefined
  const kept = cache.find(wanted)
  const usable = kept && cache.isFresh(kept) && (kept.immutable || !said.anew)
  if (kept && usable && (await answerKept(exchange, { cache, wanted, said }, kept))) return 'answered'
  // A part is not kept, and the whole would be too much for whoever wants a part.
  if (said.range) return undefined
  const stale = cache.find(wanted)
  return { cache, wanted, said, stale, headers: requestHeaders(said, stale), origin: secured(exchange) }
}
