/**
 * Decides about connections and requests. In this order: what is forbidden is blocked; where something is allowed, what is not is
 * blocked; the rest passes. An empty list of allowed domains allows everything that is not forbidden.
 */
import { compileDatagrams } from './datagrams.ts'
import { compileBypass, type Bypass } from './bypass.ts'
import { indexPatterns, type PatternIndex } from './index-of-patterns.ts'
import type { PathReadings } from './path.ts'
import { matchesMethod, needsRequest, parsePattern, type Pattern } from './pattern.ts'
import type { EgressPolicy } from './policy.ts'
import { compileRules, type Destination, type Rule } from './rules.ts'

/** Why: `rule` is the pattern as its owner wrote it, or undefined where no pattern decided. */
export interface Verdict {
  readonly allowed: boolean
  readonly rule: string | undefined
  readonly reason: 'forbidden' | 'not_allowed' | 'allowed' | 'bypass' | 'default'
}

/** What the host alone says about a connection. */
export interface HostVerdict extends Verdict {
  /** Methods, paths or rules have a say: the connection has to be read, so TLS has to be opened. */
  readonly needsRequest: boolean
}

/** What a request asks, in every way a server may understand it. */
export interface RequestFacts {
  /** Upper case; more than one where the request names a second one to be obeyed instead. */
  readonly methods: readonly string[]
  readonly paths: readonly PathReadings[]
}

interface HostEntry {
  readonly verdict: HostVerdict
  readonly forbidden: readonly Pattern[]
  readonly allowed: readonly Pattern[]
  readonly rules: readonly Destination[]
}

export interface CompiledPolicy {
  readonly source: EgressPolicy
  /** Some host is treated differently from another, so that names must be true. */
  readonly restricts: boolean
  forHost(host: string): HostVerdict
  /** About UDP to an address. Nobody can read it: what is forbidden in part, by method or path, is closed to it, and so is all where canaries are to be seen. */
  forDatagrams(address: string, port: number): Verdict
  forRequest(host: string, request: RequestFacts): Verdict
  /** Routing rules for the request, in order. */
  rulesFor(host: string, request: RequestFacts): readonly Rule[]
}

/** Hosts whose answer is remembered: more than one program asks for, less than a tenant can make up. */
const remembered = 1024

const matchesSome = (pattern: Pattern, { methods, paths }: RequestFacts): boolean =>
  methods.some(method => matchesMethod(pattern, method)) &&
  (pattern.path === undefined || paths.some(path => pattern.path?.matches(path, false)))

/** Every reading of the request is let through by this pattern. */
const matchesEvery = (pattern: Pattern, { methods, paths }: RequestFacts): boolean =>
  methods.every(method => matchesMethod(pattern, method)) &&
  (pattern.path === undefined || paths.every(path => pattern.path?.matches(path, true)))

const block = (rule: string | undefined, reason: Verdict['reason']): HostVerdict => ({
  allowed: false,
  rule,
  reason,
  needsRequest: false,
})

interface Context {
  readonly forbidden: PatternIndex
  readonly allowed: PatternIndex
  readonly rules: PatternIndex<Destination>
  readonly bypass: Bypass
  readonly strict: boolean
  readonly namesNear: (host: string) => readonly string[] | undefined
}

/** What passes because whoever asks is in a network with it. */
const near = 'vpc'

const judgeHost = (context: Context, host: string): HostEntry => {
  const forbidden = context.forbidden.forHost(host)
  const allowed = context.allowed.forHost(host)
  const rules = context.rules.forHost(host)
  const entry = (verdict: HostVerdict): HostEntry => ({ verdict, forbidden, allowed, rules })
  const names = context.namesNear(host)
  const outright = [forbidden, ...(names ?? []).map(name => context.forbidden.forHost(name))]
    .flat()
    .find(pattern => !needsRequest(pattern))
  if (outright) return entry(block(outright.text, 'forbidden'))
  const asks = context.strict || forbidden.length > 0
  const bypass = context.bypass.find(host) ?? (names ? near : undefined)
  if (bypass !== undefined)
    return { ...entry({ allowed: true, rule: bypass, reason: 'bypass', needsRequest: asks }), rules: [] }
  const open = asks || rules.length > 0
  if (context.allowed.size === 0)
    return entry({ allowed: true, rule: undefined, reason: 'default', needsRequest: open })
  const whole = allowed.find(pattern => !needsRequest(pattern))
  if (whole) return entry({ allowed: true, rule: whole.text, reason: 'allowed', needsRequest: open })
  const [first] = allowed
  if (!first) return entry(block(undefined, 'not_allowed'))
  return entry({ allowed: true, rule: first.text, reason: 'allowed', needsRequest: true })
}

const judgeRequest = (entry: HostEntry, request: RequestFacts): Verdict => {
  const { verdict, forbidden, allowed } = entry
  if (!verdict.allowed || !verdict.needsRequest) return verdict
  const stop = forbidden.find(pattern => matchesSome(pattern, request))
  if (stop) return { allowed: false, rule: stop.text, reason: 'forbidden' }
  if (verdict.reason !== 'allowed') return verdict
  const pass = allowed.find(pattern => matchesEvery(pattern, request))
  return pass
    ? { allowed: true, rule: pass.text, reason: 'allowed' }
    : { allowed: false, rule: undefined, reason: 'not_allowed' }
}

/**
 * Makes a policy ready. `namesNear` is asked each time, for all names of a host that is in the network of whoever asks: they come and go. Throws
 * `invalid_argument` where a rule cannot be kept; a malformed pattern is no error.
 */
export const compilePolicy = (
  source: EgressPolicy,
  namesNear: (host: string) => readonly string[] | undefined = () => undefined,
): CompiledPolicy => {
  const context: Context = {
    forbidden: indexPatterns(source.forbiddenDomains.map(parsePattern), true),
    allowed: indexPatterns(source.allowedDomains.map(parsePattern), false),
    rules: compileRules(source.routing),
    bypass: compileBypass(source.bypass),
    strict: source.canary === 'strict',
    namesNear,
  }
  const datagrams = compileDatagrams(source.datagrams)
  const entries = new Map<string, HostEntry>()
  const entryOf = (host: string): HostEntry => {
    if (namesNear(host)) return judgeHost(context, host)
    const found = entries.get(host)
    if (found) return found
    const entry = judgeHost(context, host)
    if (entries.size >= remembered) entries.clear()
    entries.set(host, entry)
    return entry
  }
  return {
    source,
    restricts: source.allowedDomains.length > 0 || source.forbiddenDomains.length > 0,
    forHost: host => entryOf(host).verdict,
    forDatagrams(address, port) {
      const [forbidden] = entryOf(address).forbidden
      if (forbidden) return block(forbidden.text, 'forbidden')
      const rule = context.strict ? undefined : datagrams.find(address, port)
      return rule === undefined ? block(undefined, 'not_allowed') : { allowed: true, rule, reason: 'allowed' }
    },
    forRequest: (host, request) => judgeRequest(entryOf(host), request),
    rulesFor(host, request) {
      const seen = new Set<Rule>()
      for (const destination of entryOf(host).rules) if (matchesEvery(destination, request)) seen.add(destination.rule)
      return [...seen]
    },
  }
}
