/** What may be said about a sandbox's network. Lists and maps also come as text holding JSON. */
import { described, s, text, texts as textMap, withoutEffect, type Out } from '../../../../../shared/schema.ts'
import { sent } from './sent.ts'

const list = <S extends Parameters<typeof s.array>[0]>(item: S, max = 1000) =>
  s.nullish(sent(s.array(item).check(s.maxLength(max))))
const patterns = () => list(text(1024))
const map = () => s.nullish(sent(textMap(256)))

const egressPolicy = s.object({
  name: s.nullish(text(256)),
  mode: s.nullish(text(64)),
  destinations: patterns(),
})

const route = s.object({ destinations: patterns(), headers: map(), body: map(), secrets: map() })

const proxy = s.object({
  allowedDomains: patterns(),
  forbiddenDomains: patterns(),
  bypass: patterns(),
  routing: list(route, 200),
  /** `shadow` and `record` let everything through and say what the lists would stop. */
  mode: s.nullish(s.enum(['enforce', 'shadow', 'record'])),
  /** Values that must never leave, by name. */
  canaries: map(),
  /** Where canaries are looked for: in what is opened anyway, or in every TLS connection. */
  canary: s.nullish(s.enum(['opened', 'strict'])),
})

export const network = s.object({
  allowedDomains: patterns(),
  forbiddenDomains: patterns(),
  subnet: s.nullish(text(63)),
  firewall: s.nullish(s.object({ rulesets: list(s.enum(['default', 'proxy', 'dedicated-ip'])) })),
  egress: s.nullish(
    s.object({
      gateway: s.nullish(text(63)),
      mode: s.nullish(text(64)),
      policies: described(list(egressPolicy), { [withoutEffect]: true }),
    }),
  ),
  proxy: s.nullish(proxy),
})

export type NetworkInput = Out<typeof network>
