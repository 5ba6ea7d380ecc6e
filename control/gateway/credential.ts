/** The credential of a request to a workload, and what of the request the workload must not see because of it. */
import type { IncomingMessage } from 'node:http'
import { fail } from '../../shared/errors.ts'
import { credentialOf } from '../auth/credential.ts'

export interface WorkloadCredential {
  readonly key: string
  /** Lower-case names of headers that are withheld. */
  readonly withheld: ReadonlySet<string>
  /** Path and query without a key. */
  readonly target: string
}

/** A browser cannot set headers on a WebSocket: the terminal carries its key as `token` in the query. */
const fromQuery = (target: string): { key: string; target: string } | undefined => {
  const cut = target.indexOf('?')
  if (cut < 0 || !/^\/terminal(\/ws)?$/.test(target.slice(0, cut))) return undefined
  const search = new URLSearchParams(target.slice(cut + 1))
  const key = search.get('token')
  if (!key) return undefined
  search.delete('token')
  return { key, target: `${target.slice(0, cut)}${search.size ? `?${search}` : ''}` }
}

/**
 * Reads credentials; `names` are the headers that may carry one, lower case, best first, `never` those that no workload
 * gets from a client. Throws `credential_required`.
 */
export const credentialReader = (names: readonly string[], never: readonly string[] = []) => {
  const all = new Set([...names, ...never])
  // With a header of our own, `Authorization` belongs to the application behind us and passes.
  const ours = new Set([...names.filter(name => name !== 'authorization'), ...never])
  return ({ headers }: IncomingMessage, target: string): WorkloadCredential => {
    const found = credentialOf(headers, names)
    if (found) return { key: found.key, withheld: found.header === 'authorization' ? all : ours, target }
    const query = fromQuery(target)
    if (query) return { ...query, withheld: ours }
    throw fail('credential_required', { headers: names })
  }
}
