/**
 * Patterns of domain lists: `[!]METHOD:METHOD:…:domain[/path]`.
 *
 *     example.com              this host, any method and path; ports do not matter
 *     *.example.com            every host below it, at any depth, not itself
 *     *                        every host
 *     GET:HEAD:example.com     these methods;  !DELETE:example.com  all but this one
 *     example.com/data/        paths that begin with /data/; * in it is any run of characters
 *
 * What does not fit is a literal domain, which no request can name: it never lets out more than was meant.
 */
import { hostFromPerson, isAddress } from './host.ts'
import { pathPattern, type PathPattern } from './path.ts'

export interface HostPattern {
  readonly kind: 'any' | 'below' | 'exact'
  /** The name of `exact`, the parent of `below`; '' for `any`. */
  readonly name: string
}

export interface Pattern {
  /** As it was written. */
  readonly text: string
  readonly host: HostPattern
  /** Upper case; undefined when the pattern does not ask about methods. */
  readonly methods: ReadonlySet<string> | undefined
  /** The methods are those that do not match. */
  readonly negated: boolean
  readonly path: PathPattern | undefined
  /** Why it is only a literal domain; undefined for a pattern that fits the grammar. */
  readonly malformed: string | undefined
}

const method = /^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]*$/

const hostPattern = (text: string): HostPattern | undefined => {
  if (text === '*') return { kind: 'any', name: '' }
  const below = text.startsWith('*.')
  const name = hostFromPerson(below ? text.slice(2) : text)
  if (name === undefined || (below && isAddress(name))) return undefined
  return { kind: below ? 'below' : 'exact', name }
}

/** Where the host begins: after the last colon that is not inside an IPv6 address. */
const hostStart = (head: string): number => {
  const bracket = head.endsWith(']') ? head.lastIndexOf('[') : -1
  return (bracket < 0 ? head.lastIndexOf(':') : head.lastIndexOf(':', bracket)) + 1
}

const literal = (text: string, malformed: string): Pattern => {
  // Written with a port: it names that host, and a list that forbids must not miss it.
  const withPort = /^([^/:]+):\d+$/.exec(text)?.[1]
  const name = (withPort === undefined ? undefined : hostFromPerson(withPort)) ?? text.toLowerCase()
  return { text, host: { kind: 'exact', name }, methods: undefined, negated: false, path: undefined, malformed }
}

/** Reads one pattern. Never fails: see `malformed`. */
export const parsePattern = (text: string): Pattern => {
  const slash = text.indexOf('/')
  const head = slash < 0 ? text : text.slice(0, slash)
  const negated = head.startsWith('!')
  const at = hostStart(head)
  const host = hostPattern(head.slice(Math.max(at, negated && at === 0 ? 1 : at)))
  if (!host) return literal(text, 'the domain is not a name, *.name or *')
  const words = at === 0 ? [] : head.slice(negated ? 1 : 0, at - 1).split(':')
  if (negated && at === 0) return literal(text, '"!" needs methods: !METHOD:domain')
  if (!words.every(word => method.test(word))) return literal(text, 'a method is not a word')
  const methods = words.length > 0 ? new Set(words.map(word => word.toUpperCase())) : undefined
  const path = slash < 0 ? undefined : pathPattern(text.slice(slash))
  return { text, host, methods, negated, path, malformed: undefined }
}

/** Whether the pattern asks about more than the host, so that a connection must be read to know. */
export const needsRequest = ({ methods, path }: Pattern): boolean => methods !== undefined || path !== undefined

/** Whether the method is among those of the pattern. */
export const matchesMethod = ({ methods, negated }: Pattern, name: string): boolean =>
  methods === undefined || methods.has(name) !== negated
