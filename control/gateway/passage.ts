/** One request's way to its workload: who asks, for which, once it is up, through to it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../shared/clock.ts'
import { connectionClosed } from '../../shared/http/connection-closed.ts'
import { needReach, type Keys } from '../auth/keys.ts'
import type { Held, Reach } from '../instances/reach.ts'
import type { WorkloadAddress } from './address.ts'
import type { Answers } from './answers.ts'
import type { WorkloadCredential } from './credential.ts'
import type { Forwarder } from './forward.ts'
import type { Resolve, Resolved } from './resolve.ts'
import { splice } from './splice.ts'

export interface Context {
  readonly resolve: Resolve
  readonly hold: Reach['hold']
  readonly forwarder: Forwarder
  readonly keys: Keys
  readonly answers?: Answers | undefined
  readonly clock: Clock
  readonly credentialOf: (request: IncomingMessage, target: string) => WorkloadCredential
}

interface Admitted {
  readonly resolved: Resolved
  readonly credential: WorkloadCredential
}

/** Whether a workload exists is told only to who holds a valid key: that is looked at before what was found is told. */
const admit = async (context: Context, address: WorkloadAddress, request: IncomingMessage): Promise<Admitted> => {
  const { resolve, keys, credentialOf } = context
  const credential = credentialOf(request, address.target)
  const found = await resolve(address).catch((error: unknown) => ({ error }))
  const key = await keys.verify(credential.key)
  if ('error' in found) throw found.error
  needReach(key, found.workspace)
  return { resolved: found, credential }
}

const holdFor = ({ hold }: Context, { owner, instance }: Resolved, signal: AbortSignal): Promise<Held> =>
  hold(owner, signal, instance)

/** Resolves when the answer is delivered. */
export const run = async (
  context: Context,
  address: WorkloadAddress,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { forwarder, answers } = context
  const gone = new AbortController()
  response.once('close', () => gone.abort(connectionClosed))
  const { resolved, credential } = await admit(context, address, request)
  const { instance, upstream, release } = await holdFor(context, resolved, gone.signal)
  const { target, withheld } = credential
  try {
    if (address.port === undefined && answers?.takes(instance, request.method ?? 'GET', target))
      return await answers.answer({ instance, target, upstream, request, response })
    const { base, port = upstream.port } = address
    await forwarder.forward({ upstream: { host: upstream.host, port }, target, base, request, response, withheld })
  } finally {
    release()
  }
}

/** Resolves when either side has ended the connection. */
export const runUpgrade = async (
  context: Context,
  address: WorkloadAddress,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> => {
  const gone = new AbortController()
  socket.once('close', () => gone.abort(connectionClosed))
  const { resolved, credential } = await admit(context, address, request)
  const { owner } = resolved
  const { upstream, release } = await holdFor(context, resolved, gone.signal)
  await splice(
    {
      upstream: { host: upstream.host, port: address.port ?? upstream.port },
      target: credential.target,
      request,
      socket,
      head,
      withheld: credential.withheld,
      release,
      hold: async () => (await context.hold(owner, gone.signal)).release,
    },
    context.clock,
  )
}
