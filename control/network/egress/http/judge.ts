/** Judges one request and makes it ready to be sent: the same for every version of HTTP. */
import type { RequestFacts, Verdict } from '../../../../shared/policy/decide.ts'
import { parseAuthority } from '../../../../shared/policy/host.ts'
import type { Rule } from '../../../../shared/policy/rules.ts'
import type { Engine } from '../engine.ts'
import type { EgressEvent } from '../events/events.ts'
import { readSaid } from '../events/said.ts'
import type { Reason } from './answers.ts'
import { sizeOfLines } from './fields.ts'
import { injectHeaders, type Injection } from './inject.ts'
import type { Origin } from './origin.ts'
import { readingsOf, type RequestLines } from './request.ts'

export interface Asked {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly lines: RequestLines
  readonly protocol: 'http' | 'https' | 'h2'
}

export interface Judged {
  readonly ok: true
  readonly requestId: string
  readonly host: string
  readonly facts: RequestFacts
  /** Of its head, about. */
  readonly bytes: number
  readonly rules: readonly Rule[]
  readonly injection: Injection | undefined
  /** Header lines to be sent, names and values in turn, without Host. */
  readonly headers: string[]
}

export interface Stopped {
  readonly ok: false
  readonly requestId: string
  readonly reason: Reason
}

const defaultPorts = { http: 80, https: 443 } as const

/** The host a request is for, or why it may not be for it. */
const hostOf = (origin: Origin, { lines }: Asked): { host: string } | { reason: Reason } => {
  if (lines.host === undefined || lines.host === '') {
    const known = origin.host ?? origin.address
    return known === undefined ? { reason: 'bad_request' } : { host: known }
  }
  const authority = parseAuthority(lines.host, defaultPorts[origin.scheme])
  if (!authority) return { reason: 'bad_request' }
  return origin.host === undefined || origin.host === authority.host
    ? { host: authority.host }
    : { reason: 'host_mismatch' }
}

/** Without the query, which may hold secrets. */
export const pathOf = (target: string): string => {
  const end = target.search(/[?#]/)
  return end < 0 ? target : target.slice(0, end)
}

type Tell = (verdict: EgressEvent['verdict'], reason: string, rule?: string) => void

const teller = (origin: Origin, asked: Asked, requestId: string, host: string): Tell => {
  // What was seen from outside counts for more than what somebody inside says.
  const said = origin.said ?? readSaid(asked.lines.said, origin.tenant.mask)
  return (verdict, reason, rule) =>
    origin.tenant.events.add({
      kind: 'request',
      verdict,
      reason,
      rule,
      requestId,
      host,
      port: origin.port,
      address: origin.address,
      protocol: asked.protocol,
      method: asked.method,
      path: pathOf(asked.target),
      said,
    })
}

const searchCanaries = (origin: Origin, asked: Asked, host: string, requestId: string): void => {
  const { tenant } = origin
  if (tenant.canaries.names.length === 0) return
  const search = tenant.canaries.search(name => tellCanary(origin, host, requestId, name))
  search.text(host)
  search.text(asked.target)
  search.text(asked.lines.headers.join('\n'))
}

/** A canary has left, or is about to. */
export const tellCanary = (origin: Origin, host: string, requestId: string, name: string): void =>
  origin.tenant.events.add({
    kind: 'canary',
    verdict: 'allowed',
    reason: 'canary',
    requestId,
    host,
    port: origin.port,
    protocol: origin.scheme,
    detail: name,
  })

/** Of the policy: may it pass, and what is said about it? */
const judgePolicy = (origin: Origin, verdict: Verdict, tell: Tell): Reason | undefined => {
  if (verdict.allowed) {
    tell('allowed', verdict.reason, verdict.rule)
    return undefined
  }
  const enforced = origin.tenant.policy.source.mode === 'enforce'
  tell(enforced ? 'blocked' : 'would_block', verdict.reason, verdict.rule)
  return enforced ? (verdict.reason === 'forbidden' ? 'forbidden' : 'not_allowed') : undefined
}

/** Decides about a request, tells the decision, and applies the routing rules to its headers. */
export const judge = (engine: Engine, origin: Origin, asked: Asked): Judged | Stopped => {
  const requestId = engine.requestId()
  const named = hostOf(origin, asked)
  const host = 'host' in named ? named.host : (origin.host ?? origin.address ?? '')
  const tell = teller(origin, asked, requestId, host)
  const stop = (reason: Reason): Stopped => {
    tell('blocked', reason)
    return { ok: false, requestId, reason }
  }
  if ('reason' in named) return stop(named.reason)
  // TRACE answers with the request as it arrived, with all that was put into it.
  if (asked.method === 'TRACE' || asked.method === 'CONNECT') return stop('method')
  const readings = readingsOf(asked.method, asked.target, asked.lines)
  if (!readings) return stop('bad_request')
  const { policy, record } = origin.tenant
  const refused = judgePolicy(origin, policy.forRequest(host, readings), tell)
  if (refused) return { ok: false, requestId, reason: refused }
  if (policy.source.mode === 'record') record.add({ host, method: asked.method })
  searchCanaries(origin, asked, host, requestId)
  const rules = policy.rulesFor(host, readings)
  const injection = rules.length > 0 ? injectHeaders(rules, asked.method, asked.lines, engine.clock) : undefined
  const headers = injection?.headers ?? asked.lines.headers
  for (const name of engine.names.requestId) headers.push(name, requestId)
  const bytes = sizeOfLines(headers) + asked.target.length
  return { ok: true, requestId, host, facts: readings, bytes, rules, injection, headers }
}

/** What could not be put in is worth an event: the request goes without it. */
export const tellSkipped = (origin: Origin, { injection, host, requestId }: Judged): void => {
  for (const detail of injection?.skipped ?? [])
    origin.tenant.events.add({ kind: 'injection', verdict: 'allowed', reason: 'skipped', requestId, host, detail })
}
