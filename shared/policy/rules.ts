/** Routing rules made ready: what is put into requests, where, and with which secrets. */
import { fail } from '../errors.ts'
import { hopByHop } from '../http/hop-by-hop.ts'
import { indexPatterns, type PatternIndex } from './index-of-patterns.ts'
import { parsePattern, type Pattern } from './pattern.ts'
import type { RoutingRule } from './policy.ts'
import { parseTemplate, type Template } from './template.ts'

export interface Rule {
  /** Its place in the policy's list. */
  readonly index: number
  readonly headers: readonly { readonly name: string; readonly lower: string; readonly value: Template }[]
  readonly body: ReadonlyMap<string, Template>
  readonly secrets: ReadonlyMap<string, string>
}

interface Destination extends Pattern {
  readonly rule: Rule
}

const token = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
/** What frames or routes a message is the proxy's own. */
const reserved = new Set([
  'host',
  'content-length',
  'expect',
  'upgrade',
  'connection',
  'transfer-encoding',
  'te',
  'trailer',
])

const checkHeader = (name: string, index: number): void => {
  const field = `routing.${index}.headers.${name}`
  if (!token.test(name)) throw fail('invalid_argument', { field, reason: 'is not a header name' })
  const lower = name.toLowerCase()
  if (reserved.has(lower) || hopByHop.has(lower))
    throw fail('invalid_argument', { field, reason: 'is set by the proxy itself' })
}

const compileRule = (rule: RoutingRule, index: number): Rule => ({
  index,
  headers: Object.entries(rule.headers).map(([name, value]) => {
    checkHeader(name, index)
    return { name, lower: name.toLowerCase(), value: parseTemplate(value) }
  }),
  body: new Map(Object.entries(rule.body).map(([name, value]) => [name, parseTemplate(value)])),
  secrets: new Map(Object.entries(rule.secrets)),
})

/** Throws `invalid_argument` for a header that no rule may set. */
export const compileRules = (rules: readonly RoutingRule[]): PatternIndex<Destination> =>
  indexPatterns(
    rules.flatMap((one, index) => {
      const rule = compileRule(one, index)
      return one.destinations.map(text => ({ ...parsePattern(text), rule }))
    }),
    false,
  )

export type { Destination }
