/** Addresses without a version: what a kind serves at `/{workspace}/…` is the same as below `/v0`. */
import { pathOf } from '../../core/records/address.ts'
import type { Kind } from '../../core/records/kind.ts'

/** Gives an address below `/v0` for one that a kind serves at the root or that `others` has, and undefined for any other. */
export const rootAddresses = (
  kinds: readonly Kind[],
  others: Readonly<Record<string, string>>,
): ((url: string) => string | undefined) => {
  const patterns = kinds
    .filter(({ atRoot }) => atRoot)
    .map(kind => pathOf(kind).slice('/v0'.length).replace(/:\w+/g, '[^/?]+'))
    .map(path => new RegExp(`^/((?!v\\d)[a-z0-9][a-z0-9-]*)(${path}(?:/[^?]*)?)(?:\\?(.*))?$`, 's'))
  return url => {
    if (Object.hasOwn(others, url)) return others[url]
    for (const pattern of patterns) {
      const [, workspace, path, query] = pattern.exec(url) ?? []
      // The first value of a query counts.
      if (path) return `/v0${path}?workspace=${workspace}${query ? `&${query}` : ''}`
    }
    return undefined
  }
}
