/**
 * Connections to providers. A tenant chooses the base address, so where it leads is judged for the very connection that is made: public
 * addresses by TLS, and whatever the operator lists in HUTCH_PROVIDERS.
 */
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { Agent, type Dispatcher } from 'undici'
import { fail } from '../../../shared/errors.ts'
import { standingOf } from '../images/pull/reach.ts'

/** The longest that a provider may take until it answers, and between two pieces of its answer. */
const longestMs = 900_000

const connectMs = 10_000

/** Connections to one origin at the same time. */
const mostConnections = 512

const refuse = (reason: string) => fail('invalid_argument', { field: 'spec.config.baseUrl', reason })

const listIt = 'the operator of this host can list it in HUTCH_PROVIDERS'

const judge = (host: string, address: string, isListed: boolean): void => {
  const standing = standingOf(address)
  if (standing === 'never') throw refuse(`${host} is at ${address}, where clouds keep credentials`)
  if (standing === 'closed' && !isListed) throw refuse(`${host} is at ${address}, which is not public; ${listIt}`)
}

const guarded =
  (isListed: boolean, resolve: typeof systemLookup): LookupFunction =>
  (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      try {
        if (error) throw error
        for (const { address } of addresses) judge(hostname, address, isListed)
      } catch (refused) {
        done(refused as NodeJS.ErrnoException, '')
        return
      }
      const [first] = addresses
      if (options.all) done(null, addresses)
      else done(null, first?.address ?? '', first?.family)
    })
  }

export interface Reach {
  /** Where requests to an origin are dispatched. Throws `invalid_argument` for one that no connection may lead to. */
  to(url: URL): Dispatcher
  close(): Promise<void>
}

/** `allowed` are origins: `http://127.0.0.1:11434`. `ca` are further authorities in PEM, '' for none. */
export const createReach = (
  allowed: readonly string[],
  { ca = '', resolve = systemLookup }: { ca?: string; resolve?: typeof systemLookup } = {},
): Reach => {
  const agentFor = (isListed: boolean) =>
    new Agent({
      connections: mostConnections,
      pipelining: 1,
      headersTimeout: longestMs,
      bodyTimeout: longestMs,
      connect: {
        lookup: guarded(isListed, resolve),
        timeout: connectMs,
        ...(ca ? { ca: [...rootCertificates, ca] } : {}),
      },
    })
  const [listed, open] = [agentFor(true), agentFor(false)]
  return {
    to(url) {
      const isListed = allowed.includes(url.origin)
      if (url.protocol === 'http:' && !isListed)
        throw refuse(`is plain HTTP, which would show the credential to everybody on the way; ${listIt}`)
      const literal = url.hostname.replace(/^\[|\]$/g, '')
      if (isIP(literal) !== 0) judge(literal, literal, isListed)
      return isListed ? listed : open
    },
    async close() {
      await Promise.all([listed.destroy(), open.destroy()])
    },
  }
}
