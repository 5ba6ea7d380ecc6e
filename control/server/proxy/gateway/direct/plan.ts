/**
 * What a request needs on its way that follows from the fields of its head and from where it leads, but not from the rest of its path:
 * worked out once for all requests of a connection that repeat them.
 */
import type { Turn } from '../../../../../shared/lane/turn.ts'
import type { Connections, Destination, Link } from '../../../../core/channel/connections.ts'
import { cameByTls, requestHeaders, responseHeaders, type AnswerRules, type Withheld } from '../headers.ts'
import type { AnswerHead } from '../../../../core/channel/answer-head.ts'

export interface Plan {
  readonly link: Link
  /** The fields as the workload gets them, each with the end of its line. */
  readonly fields: string
  /** The answer's headers as the client gets them, names and values in turn. */
  readonly headersOf: (head: Pick<AnswerHead, 'raw'>) => readonly string[]
}

export interface Planning {
  readonly to: Destination
  readonly withheld: Withheld
  /** Headers that are added: names and values. */
  readonly identity: readonly string[]
  readonly answerRules: AnswerRules
  /** What becomes of the answer's headers: names and values. */
  readonly reshape?: (headers: readonly string[]) => readonly string[]
}

/** Names and values in turn as lines of a head. */
const linesOf = (headers: readonly string[]): string => {
  let text = ''
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return text
}

export const planOf = (
  connections: Pick<Connections, 'link'>,
  { request }: Pick<Turn, 'request'>,
  { to, withheld, identity, answerRules, reshape }: Planning,
): Plan => {
  const headers = requestHeaders(request.rawHeaders, {
    withheld,
    identity,
    remote: request.socket.remoteAddress ?? '',
    host: request.headers.host ?? '',
    isSecure: cameByTls(request.socket),
  })
  return {
    link: connections.link(to, request),
    fields: linesOf([...headers, 'connection', 'keep-alive']),
    headersOf({ raw }) {
      const kept = responseHeaders(raw, answerRules)
      return reshape ? reshape(kept) : kept
    },
  }
}

type Keeper = Pick<Turn, 'keeping'>

export interface Plans<One> {
  /** What was kept for requests with these fields by an address that begins like this. */
  of(turn: Keeper, base: string): One | undefined
  /** In place of what was kept before. */
  keep(turn: Keeper, base: string, one: One): void
}

/** They go with the fields, which the connection has while its client repeats them: one for each, so that fields that nobody repeats cost nothing. */
export const createPlans = <One>(): Plans<One> => {
  const plans: Plans<One> = {
    of: ({ keeping: { keptBy, keptFor, kept } }, base) =>
      keptBy === plans && keptFor === base ? (kept as One) : undefined,
    keep({ keeping }, base, one) {
      keeping.keptBy = plans
      keeping.keptFor = base
      keeping.kept = one
    },
  }
  return plans
}
