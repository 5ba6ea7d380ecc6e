/** From a record of what a sandbox asked for, the smallest list that would have let all of it pass. */
export interface Seen {
  readonly host: string
  /** Known where the connection was read. */
  readonly method?: string | undefined
  readonly path?: string | undefined
}

/** How closely the list holds to what was seen; methods only where every connection to the host was read. */
export type Detail = 'host' | 'method'

const listFor = (host: string, seen: readonly Seen[], detail: Detail): string => {
  const methods = seen.map(one => one.method)
  if (detail === 'host' || methods.some(method => method === undefined)) return host
  return `${[...new Set(methods as string[])].sort().join(':')}:${host}`
}

/** Patterns in alphabetical order, one a host: none can be left out, and none lets through another host. */
export const smallestAllowList = (seen: Iterable<Seen>, detail: Detail = 'host'): string[] => {
  const hosts = new Map<string, Seen[]>()
  for (const one of seen) {
    const found = hosts.get(one.host)
    if (found) found.push(one)
    else hosts.set(one.host, [one])
  }
  return [...hosts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([host, list]) => listFor(host, list, detail))
}
