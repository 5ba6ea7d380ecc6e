/** Calls that are acknowledged at once: they are kept, and made when a machine has room for them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fail } from '../../../../shared/errors.ts'
import type { WorkloadAddress } from '../gateway/address.ts'
import { isBodiless } from '../gateway/exchange.ts'
import { cameByTls, requestHeaders } from '../gateway/headers.ts'
import { readAhead } from '../gateway/read-ahead.ts'
import type { Later } from '../../../core/records/server-plane.ts'
import type { Store } from '../../../core/store/store.ts'
import type { AsyncCalls } from '../../../core/workloads/async/calls.ts'
import { needServing } from '../../../core/workloads/balance.ts'
import type { Letting } from './access.ts'

export interface AcknowledgeDeps {
  readonly store: Pick<Store, 'resources'>
  readonly later: Pick<AsyncCalls, 'accept'>
}

/** How it is made afterwards; undefined for a call whose answer is waited for. */
export const laterOf = ({ called }: Letting, { target }: WorkloadAddress): Later | undefined => {
  const [path = '', query = ''] = target.split('?', 2)
  return called.server.later?.(called.record, path, new URLSearchParams(query))
}

interface Acknowledging {
  readonly address: WorkloadAddress
  readonly access: Letting
  /** Headers that say who calls: names and values. */
  readonly identity: readonly string[]
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Bytes of a body that is kept until its call is made. */
const mostKept = 6 * 1024 * 1024

/** The call is kept, and made when a machine has room for it; the caller is told that at once. */
export const acknowledge = async (
  { store, later }: AcknowledgeDeps,
  { timeoutMs, callback, dimension }: Later,
  { address, access, identity, request, response }: Acknowledging,
): Promise<void> => {
  const { record } = access.called
  await needServing({ store }, record)
  const body = isBodiless(request) ? Buffer.alloc(0) : await readAhead(request, mostKept)
  if (body === 'gone') return
  if (body === 'large') throw fail('payload_too_large', { limit: mostKept })
  const { uid, kind, workspace, name } = record
  const headers = requestHeaders(request.rawHeaders, {
    withheld: access.withheld,
    identity,
    remote: request.socket.remoteAddress ?? '',
    host: request.headers.host ?? '',
    isSecure: cameByTls(request.socket),
  })
  const owner = { uid, kind, workspace, name }
  const call = { owner, method: request.method ?? 'POST', target: address.target, headers, timeoutMs }
  const kept = body === 'empty' ? Buffer.alloc(0) : body
  await later.accept({ ...call, ...(callback ? { callback } : {}) }, kept, dimension)
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
  response.end('{"success":true}')
}
