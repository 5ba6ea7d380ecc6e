/** A list of patterns by host, so that a thousand of them cost a request no more than ten. */
import { isAddress } from './host.ts'
import type { Pattern } from './pattern.ts'

export interface PatternIndex<P extends Pattern = Pattern> {
  readonly size: number
  /** All whose host matches, in the order of the list. */
  forHost(host: string): readonly P[]
}

interface Entry<P> {
  readonly pattern: P
  readonly at: number
}

const add = <P>(map: Map<string, Entry<P>[]>, key: string, entry: Entry<P>): void => {
  const found = map.get(key)
  if (found) found.push(entry)
  else map.set(key, [entry])
}

/** A list that forbids also takes `example.com:8080` at its word for example.com; one that allows does not. */
export const indexPatterns = <P extends Pattern>(patterns: readonly P[], forbids: boolean): PatternIndex<P> => {
  const exact = new Map<string, Entry<P>[]>()
  const below = new Map<string, Entry<P>[]>()
  const any: Entry<P>[] = []
  for (const [at, pattern] of patterns.entries()) {
    if (pattern.malformed !== undefined && !forbids) continue
    const entry = { pattern, at }
    if (pattern.host.kind === 'any') any.push(entry)
    else add(pattern.host.kind === 'exact' ? exact : below, pattern.host.name, entry)
  }
  return {
    size: patterns.length,
    forHost(host) {
      const found = [...any, ...(exact.get(host) ?? [])]
      if (!isAddress(host))
        for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1))
          found.push(...(below.get(host.slice(dot + 1)) ?? []))
      return found.sort((a, b) => a.at - b.at).map(entry => entry.pattern)
    },
  }
}
