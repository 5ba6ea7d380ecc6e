/** What is open for a sandbox: it ends when a new policy would not have let it begin. */
import { isDeepStrictEqual } from 'node:util'
import type { CompiledPolicy, RequestFacts } from '../../../shared/policy/decide.ts'
import type { RoutingRule } from '../../../shared/policy/policy.ts'

export interface OpenConnection {
  /** Undefined where only each of its requests says so. */
  readonly host: string | undefined
  /** The record of the neighbour at its other end. */
  readonly neighbour?: string | undefined
  /** It is read, or nothing has come yet; one that is not has to end when a new policy wants to read it. */
  readonly read: boolean
  /** The policy that it began under did not ask whether its name is true. */
  readonly unproven?: boolean
  /** The port of a flow of datagrams to `host`, an address. */
  readonly datagrams?: number
  end(): void
}

/** One request of a connection. */
export interface OpenRequest extends OpenConnection {
  readonly host: string
  readonly facts: RequestFacts
  /** What rules put in is on its way; before, other rules would put in something else. */
  sent: boolean
}

const rulesIn = (policy: CompiledPolicy, { host, facts }: OpenRequest): readonly (RoutingRule | undefined)[] =>
  policy.rulesFor(host, facts).map(({ index }) => policy.source.routing[index])

const mayGoOn = (request: OpenRequest, before: CompiledPolicy, now: CompiledPolicy): boolean =>
  (now.source.mode !== 'enforce' || now.forRequest(request.host, request.facts).allowed) &&
  (request.sent || isDeepStrictEqual(rulesIn(before, request), rulesIn(now, request)))

/** Names that the rules of before have a say on were proven then. */
const hasOtherRules = ({ source: before }: CompiledPolicy, { source: now }: CompiledPolicy): boolean =>
  now.routing.length > 0 && !isDeepStrictEqual(before.routing, now.routing)

const mayStay = (open: OpenConnection, before: CompiledPolicy, now: CompiledPolicy): boolean => {
  if ('facts' in open) return mayGoOn(open as OpenRequest, before, now)
  if (open.unproven && (now.restricts || hasOtherRules(before, now))) return false
  if (open.host === undefined) return true
  if (open.datagrams !== undefined)
    return now.source.mode !== 'enforce' || now.forDatagrams(open.host, open.datagrams).allowed
  const verdict = now.forHost(open.host)
  return (now.source.mode !== 'enforce' || verdict.allowed) && (open.read || !verdict.needsRequest)
}

/** Ends what the policy of now would not have let begin. */
export const endOthers = (all: Iterable<OpenConnection>, before: CompiledPolicy, now: CompiledPolicy): void => {
  for (const open of all) if (!mayStay(open, before, now)) open.end()
}
