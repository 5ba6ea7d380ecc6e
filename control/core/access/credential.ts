/** The credential that a request carries, the same for every surface of this host. */
import type { IncomingHttpHeaders } from 'node:http'

export interface Credential {
  readonly key: string
  /** Lower-case name of the header that carries it. */
  readonly header: string
}

/** The key of `Bearer <key>`; undefined for any other scheme. */
export const bearerOf = (value: string | string[] | undefined): string | undefined =>
  (typeof value === 'string' && /^Bearer +(\S+)\s*$/i.exec(value)?.[1]) || undefined

/**
 * The first of the headers `names` (lower case, best first) that carries `Bearer <key>`; undefined when none does. Any
 * other scheme is somebody else's: an application behind this host may have its own `Authorization`.
 */
export const credentialOf = (headers: IncomingHttpHeaders, names: readonly string[]): Credential | undefined => {
  for (const header of names) {
    const key = bearerOf(headers[header])
    if (key) return { key, header }
  }
  return undefined
}
