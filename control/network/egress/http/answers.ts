/** Answers of the engine itself, for whichever protocol has to carry them. */
import type { Refusal } from '../admit.ts'
import type { HeaderNames } from './names.ts'

/** Why something is not done. What the policy, the fence or a lie about the destination stops is `blocked`; the rest is the world's. */
export type Reason =
  | Refusal
  | 'host_mismatch'
  | 'misdirected'
  | 'name_mismatch'
  | 'protocol'
  | 'method'
  | 'not_searched'
  | 'limit'
  | 'bad_request'
  | 'unreachable'
  | 'timeout'
  | 'tls'
  | 'bad_answer'

interface Said {
  readonly status: number
  readonly text: string
  /** The value of Proxy-Error; `firewall_blocked` is what clients look for. */
  readonly error: string
}

const blocked = (text: string, status = 403): Said => ({ status, text, error: 'firewall_blocked' })

const said: Readonly<Record<Reason, Said>> = {
  forbidden: blocked('this destination is forbidden'),
  not_allowed: blocked('this destination is not among the allowed ones'),
  closed_address: blocked('this address is closed to sandboxes'),
  destination_mismatch: blocked('this address does not belong to that name'),
  name_mismatch: blocked('the name in the TLS hello is not that of the destination'),
  host_mismatch: blocked('the Host header is not that of the destination'),
  // HTTP/2 clients may try again on a connection of its own.
  misdirected: blocked('this connection is for another host', 421),
  too_many_names: blocked('too many new names were looked up; wait a minute'),
  protocol: blocked('this protocol cannot be held to the outbound policy'),
  method: blocked('this method is not passed on', 405),
  not_searched: blocked('this body is coded so that it cannot be searched for canaries'),
  limit: { status: 503, text: 'too many connections at a time', error: 'too_many_connections' },
  bad_request: { status: 400, text: 'a request that servers may read in different ways', error: 'bad_request' },
  unresolved: { status: 502, text: 'the name of the destination is not known', error: 'dns_error' },
  unreachable: { status: 502, text: 'the destination cannot be reached', error: 'destination_unavailable' },
  timeout: { status: 504, text: 'the destination does not answer', error: 'connection_timeout' },
  tls: { status: 502, text: "the destination's certificate cannot be trusted", error: 'tls_certificate_error' },
  bad_answer: { status: 502, text: 'the destination does not speak HTTP as it should', error: 'http_protocol_error' },
}

export interface Answer {
  readonly status: number
  /** Names and values in turn. */
  readonly headers: string[]
  readonly body: string
}

/** A status and `Proxy-Error`, which clients look at. */
export const answerFor = (reason: Reason, requestId: string, names: HeaderNames, detail?: string): Answer => {
  const { status, text, error } = said[reason]
  const body = `${detail ?? text}\n`
  const headers = [
    'Proxy-Error',
    error,
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(body)),
  ]
  for (const name of names.requestId) headers.push(name, requestId)
  return { status, headers, body }
}

/** The same as the bytes of an HTTP/1.1 response after which the connection ends. */
export const answerBytes = (answer: Answer, reasonPhrase: string): Buffer => {
  const lines = [`HTTP/1.1 ${answer.status} ${reasonPhrase}`]
  for (let i = 0; i < answer.headers.length; i += 2) lines.push(`${answer.headers[i]}: ${answer.headers[i + 1]}`)
  return Buffer.from(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n${answer.body}`, 'utf8')
}
