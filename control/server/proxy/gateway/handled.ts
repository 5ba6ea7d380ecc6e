/** Requests that end in a handler of this host instead of a machine. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { exchangeOf } from '../../../../shared/http/exchange.ts'
import type { ApiKey, Owner, Workspace } from '../../../core/store/store.ts'
import type { WorkloadAddress } from './address.ts'
import { enter, type EnterContext } from './admit.ts'

/** The data plane of one kind. */
export interface Handler {
  /** Lower-case headers in which clients of this kind send their key as it is, when none of ours has one. */
  readonly keyHeaders: readonly string[]
  /** Resolves when the answer is out, or nobody waits for it; rejects with what can still be said to the client. */
  handle(call: {
    readonly owner: Owner
    readonly workspace: Workspace
    readonly key: ApiKey
    /** Path and query below the record's own address. */
    readonly target: string
    readonly request: IncomingMessage
    readonly response: ServerResponse
  }): Promise<void>
}

export type Handlers = ReadonlyMap<string, Handler>

/** The request as if its key stood where ours stand. Ours come first: a client's library may leave a key of its own in place. */
const withKey = (
  { headers, method, socket }: IncomingMessage,
  names: readonly string[],
  credentialNames: readonly string[],
): Pick<IncomingMessage, 'headers' | 'method' | 'socket'> => {
  const isThere = credentialNames.some(name => headers[name] !== undefined)
  const key = isThere ? undefined : names.map(name => headers[name]).find(value => typeof value === 'string' && value)
  return {
    method: method ?? 'GET',
    socket,
    headers: key ? { ...headers, authorization: `Bearer ${String(key)}` } : headers,
  }
}

/** What a handler is called with: it has no ports. */
const targetOf = ({ port, target }: WorkloadAddress): string => (port === undefined ? target : `/port/${port}${target}`)

export const runHandled = async (
  context: EnterContext & { readonly credentialHeaders: readonly string[] },
  handler: Handler,
  address: WorkloadAddress,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> => {
  const asking = withKey(request, handler.keyHeaders, context.credentialHeaders)
  const { resolved, key } = await enter(context, address, asking, exchangeOf(response))
  const { owner, workspace } = resolved
  await handler.handle({ owner, workspace, key, target: targetOf(address), request, response })
}
