/** What an owner may say about a sandbox's outbound traffic, as the engine takes it: lists and rules in one place, no text forms. */
import { parse, s, text, texts, type Out } from '../schema.ts'

const patterns = () => s._default(s.array(text(2048)).check(s.maxLength(10_000)), [])

const routingRule = s.strictObject({
  /** Patterns as in the domain lists; `*` is every host. */
  destinations: s.array(text(2048)).check(s.minLength(1), s.maxLength(1000)),
  headers: s._default(texts(256), {}),
  body: s._default(texts(256), {}),
  secrets: s._default(texts(256), {}),
})

const egressPolicy = s.strictObject({
  allowedDomains: patterns(),
  forbiddenDomains: patterns(),
  /** Hosts that go past filtering and rules, never past the fence: names, `.suffix`, `*.suffix`, addresses, networks. */
  bypass: patterns(),
  /** Where datagrams may go: addresses, `address:port`, networks. */
  datagrams: patterns(),
  routing: s._default(s.array(routingRule).check(s.maxLength(1000)), []),
  /** `record` and `shadow` let through what the lists would stop, and say so in events. */
  mode: s._default(s.enum(['enforce', 'shadow', 'record']), 'enforce'),
  /** Values that must never leave, by name: an event tells when one does. */
  canaries: s._default(texts(256), {}),
  /** `strict` opens every TLS connection, so that no canary and no fronted host passes unread. */
  canary: s._default(s.enum(['opened', 'strict']), 'opened'),
})

export type EgressPolicy = Out<typeof egressPolicy>
export type RoutingRule = EgressPolicy['routing'][number]

/** Reads a policy. Throws `invalid_argument` that names the wrong field by its path below `field`. */
export const parseEgressPolicy = (value: unknown): EgressPolicy => parse(egressPolicy, value, 'config')
