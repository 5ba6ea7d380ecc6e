/**
 * Matches a method and path to a bound route. Two ways of decoding, because the two APIs differ:
 * `segments` decodes each parameter by itself, so `%2F` stays inside one (management API);
 * `whole` decodes the path first, so an encoded slash separates like any other and repeated slashes are kept
 * (per-sandbox API, where `/filesystem%2Ftmp%2Fa` and `/filesystem//tmp/a` are both routes). Available routers do
 * only the former.
 */
import type { Bound, Method } from '../route.ts'

interface Node {
  readonly literal: Map<string, Node>
  param?: { name: string; node: Node }
  /** By method: the name of the rest parameter, and the route. */
  rest: Map<string, { name: string; bound: Bound }>
  bound: Map<string, Bound>
}

export type Decoding = 'segments' | 'whole'

export interface Match {
  readonly bound: Bound
  readonly params: Record<string, string>
}

export interface Matcher {
  match(method: string, rawPath: string, path: string): Match | undefined
  /** All methods that the path answers to. */
  methods(rawPath: string, path: string): Method[]
}

const node = (): Node => ({ literal: new Map(), rest: new Map(), bound: new Map() })

const add = (root: Node, bound: Bound): void => {
  const { method, path, id } = bound.route
  let at = root
  const segments = path.split('/').slice(1)
  for (const [index, segment] of segments.entries()) {
    if (segment.startsWith('*')) {
      if (index !== segments.length - 1) throw new Error(`${id}: the rest must come last in ${path}`)
      if (at.rest.has(method)) throw new Error(`${id}: ${method} ${path} is declared twice`)
      at.rest.set(method, { name: segment.slice(1), bound })
      return
    }
    if (segment.startsWith(':')) {
      at.param ??= { name: segment.slice(1), node: node() }
      if (at.param.name !== segment.slice(1))
        throw new Error(`${id}: ${path} names ${segment} what others call :${at.param.name}`)
      at = at.param.node
      continue
    }
    const next = at.literal.get(segment) ?? node()
    at.literal.set(segment, next)
    at = next
  }
  if (at.bound.has(method)) throw new Error(`${id}: ${method} ${path} is declared twice`)
  at.bound.set(method, bound)
}

const decodeSegment = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

type Visit = (method: string, bound: Bound, params: Record<string, string>) => boolean

/** Depth first, literal before parameter before rest; stops when `visit` returns true. */
const walk = (
  at: Node,
  segments: readonly string[],
  index: number,
  params: Record<string, string>,
  decode: boolean,
  visit: Visit,
): boolean => {
  if (index === segments.length) for (const [method, bound] of at.bound) if (visit(method, bound, params)) return true
  if (index < segments.length) {
    const segment = segments[index] as string
    const literal = at.literal.get(segment)
    if (literal && walk(literal, segments, index + 1, params, decode, visit)) return true
    if (at.param && segment !== '') {
      const value = decode ? decodeSegment(segment) : segment
      if (
        value !== undefined &&
        walk(at.param.node, segments, index + 1, { ...params, [at.param.name]: value }, decode, visit)
      )
        return true
    }
    for (const [method, { name, bound }] of at.rest) {
      const value = segments.slice(index).join('/')
      const decoded = decode ? decodeSegment(value) : value
      if (decoded !== undefined && visit(method, bound, { ...params, [name]: decoded })) return true
    }
  }
  return false
}

/** Builds a matcher; throws when a route is declared twice. */
export const matcher = (bounds: readonly Bound[], decoding: Decoding): Matcher => {
  const root = node()
  for (const bound of bounds) add(root, bound)
  const decode = decoding === 'segments'
  const split = (rawPath: string, path: string) => (decode ? rawPath : path).split('/').slice(1)
  return {
    match(method, rawPath, path) {
      let found: Match | undefined
      walk(root, split(rawPath, path), 0, {}, decode, (candidate, bound, params) => {
        if (candidate !== method) return false
        found = { bound, params }
        return true
      })
      return found
    },
    methods(rawPath, path) {
      const methods: Method[] = []
      walk(root, split(rawPath, path), 0, {}, decode, method => {
        methods.push(method as Method)
        return false
      })
      return [...new Set(methods)]
    },
  }
}
