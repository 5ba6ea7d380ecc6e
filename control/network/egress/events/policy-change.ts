/** What a new policy changes, in words: an owner who looks at the events later sees what was open from when on. */
import type { EgressPolicy } from '../../../../shared/policy/policy.ts'

const missingIn = (before: readonly string[], after: readonly string[]): string[] => {
  const kept = new Set(after)
  return before.filter(pattern => !kept.has(pattern))
}

const said = (what: string, list: readonly string[]): string[] => (list.length > 0 ? [`${what} ${list.join(' ')}`] : [])

/** Routing rules by where they go; what they hold is nobody's to read. */
const places = ({ routing }: EgressPolicy): string[] => routing.map(({ destinations }) => destinations.join('|'))

/** `opens`: something passes that did not before. */
export interface PolicyChange {
  readonly opens: boolean
  readonly text: string
}

/** Undefined when both say the same, but for secrets and values. */
export const policyChange = (before: EgressPolicy, after: EgressPolicy): PolicyChange | undefined => {
  const hadList = before.allowedDomains.length > 0
  const hasList = after.allowedDomains.length > 0
  const unforbidden = missingIn(before.forbiddenDomains, after.forbiddenDomains)
  const allowed = hasList ? missingIn(after.allowedDomains, before.allowedDomains) : []
  const bypassed = missingIn(after.bypass, before.bypass)
  const watching = before.mode === 'enforce' && after.mode !== 'enforce'
  const parts = [
    ...(hadList && !hasList ? [`all is allowed that was not: only ${before.allowedDomains.join(' ')} was`] : []),
    ...said('no longer forbidden:', unforbidden),
    ...(hadList ? said('allowed besides:', allowed) : []),
    ...said('bypassed besides:', bypassed),
    ...(watching ? [`mode ${after.mode}: nothing is stopped`] : []),
    ...(!hadList && hasList ? [`only these are allowed: ${after.allowedDomains.join(' ')}`] : []),
    ...(hadList && hasList ? said('no longer allowed:', missingIn(before.allowedDomains, after.allowedDomains)) : []),
    ...said('forbidden besides:', missingIn(after.forbiddenDomains, before.forbiddenDomains)),
    ...said('rules gone:', missingIn(places(before), places(after))),
    ...said('rules besides:', missingIn(places(after), places(before))),
    ...(before.mode !== 'enforce' && after.mode === 'enforce' ? ['mode enforce'] : []),
  ]
  if (parts.length === 0) return undefined
  const opens =
    (hadList && (!hasList || allowed.length > 0)) || unforbidden.length > 0 || bypassed.length > 0 || watching
  return { opens, text: parts.join('; ') }
}
