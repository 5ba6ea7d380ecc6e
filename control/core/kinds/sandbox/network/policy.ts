/** From what an owner said about the network to the policy that the egress engine holds the sandbox to. */
import { datagramEntries } from '../../../../../shared/policy/datagrams.ts'
import type { EgressPolicy } from '../../../../../shared/policy/policy.ts'
import type { Sealer } from '../../../secrets/secrets.ts'
import { openTexts, type StoredNetwork } from './stored.ts'

/** Past filtering and rules on every sandbox; past the fence they are only where the operator has opened these networks. */
export const alwaysBypassed = [
  'localhost',
  '127.0.0.1',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.169.254',
  '.local',
  '.internal',
] as const

/** The policy with its secrets opened: for the engine only. Lists at both places are joined; nothing said is a policy that lets all pass. */
export const policyOf = (network: StoredNetwork | undefined, sealer: Sealer): EgressPolicy => {
  const { proxy } = network ?? {}
  const both = (name: 'allowedDomains' | 'forbiddenDomains') => [
    ...new Set([...(network?.[name] ?? []), ...(proxy?.[name] ?? [])]),
  ]
  return {
    allowedDomains: both('allowedDomains'),
    forbiddenDomains: both('forbiddenDomains'),
    bypass: [...alwaysBypassed, ...(proxy?.bypass ?? [])],
    // Of his own entries: what is always bypassed he has not allowed.
    datagrams: datagramEntries(both('allowedDomains'), proxy?.bypass ?? []),
    routing: (proxy?.routing ?? []).map(({ destinations = [], headers = {}, body = {}, secrets }) => ({
      destinations: [...destinations],
      headers: { ...headers },
      body: { ...body },
      secrets: openTexts(secrets, sealer),
    })),
    mode: proxy?.mode ?? 'enforce',
    canaries: openTexts(proxy?.canaries, sealer),
    canary: proxy?.canary ?? 'opened',
  }
}

/** The first member that restricts or changes outbound traffic; `firewall.rulesets` where it asks for the proxy. */
export const ruleIn = ({ allowedDomains, forbiddenDomains, proxy, firewall }: StoredNetwork): string | undefined => {
  const some = (list: readonly unknown[] | undefined) => (list ?? []).length > 0
  const rules: Record<string, boolean> = {
    allowedDomains: some(allowedDomains),
    forbiddenDomains: some(forbiddenDomains),
    'proxy.allowedDomains': some(proxy?.allowedDomains),
    'proxy.forbiddenDomains': some(proxy?.forbiddenDomains),
    'proxy.routing': some(proxy?.routing),
    'proxy.mode': (proxy?.mode ?? 'enforce') !== 'enforce',
    'proxy.canaries': some(Object.keys(proxy?.canaries ?? {})),
    'proxy.canary': proxy?.canary === 'strict',
    'firewall.rulesets': (firewall?.rulesets ?? []).includes('proxy'),
  }
  return Object.keys(rules).find(name => rules[name])
}
