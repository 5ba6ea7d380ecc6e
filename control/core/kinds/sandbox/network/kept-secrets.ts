/** Answers leave secrets out, and clients send answers back: a rule without secrets keeps those of the rule that it was. */
import { isDeepStrictEqual } from 'node:util'
import type { SealedTexts, StoredRoute } from './stored.ts'

const goesThere = (one: StoredRoute, other: StoredRoute): boolean =>
  isDeepStrictEqual(one.destinations ?? [], other.destinations ?? [])

const saysThat = (one: StoredRoute, other: StoredRoute): boolean =>
  isDeepStrictEqual([one.headers ?? {}, one.body ?? {}], [other.headers ?? {}, other.body ?? {}])

/**
 * For each rule the secrets of the one before that has its destinations: where several do, of the one that puts in the same, else of the next
 * that nobody has taken, else of the first. Never of one with other destinations.
 */
export const keptSecrets = (routes: readonly StoredRoute[], previous: readonly StoredRoute[]): SealedTexts[] => {
  const left = new Set(previous)
  const take = (route: StoredRoute, fits: (old: StoredRoute) => boolean): StoredRoute | undefined => {
    const found = [...left].find(old => goesThere(old, route) && fits(old))
    if (found) left.delete(found)
    return found
  }
  // Those that have not changed come first, wherever they stand.
  const same = routes.map(route => take(route, old => saysThat(old, route)))
  const all = routes.map(
    (route, at) => same[at] ?? take(route, () => true) ?? previous.find(old => goesThere(old, route)),
  )
  return all.map(old => old?.secrets ?? {})
}
