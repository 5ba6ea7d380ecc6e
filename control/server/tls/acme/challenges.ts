/** What is shown to an authority while it looks whose a name is (RFC 8555, section 8; RFC 8737). */
import type { SecureContext } from 'node:tls'

export interface Challenges {
  /** By the token in the path below `/.well-known/acme-challenge/`, what is answered there. */
  readonly http: Map<string, string>
  /** By host name, what is shown to a client that speaks `acme-tls/1`. */
  readonly alpn: Map<string, SecureContext>
}

export const createChallenges = (): Challenges => ({ http: new Map(), alpn: new Map() })

const path = '/.well-known/acme-challenge/'

/** What is answered to a request for a token; undefined for another address. */
export const httpAnswer = ({ http }: Challenges, url: string): string | undefined =>
  url.startsWith(path) ? http.get(url.slice(path.length)) : undefined
