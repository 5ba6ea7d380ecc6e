/**
 * A machine whose outbound traffic is held to a policy can have a tunnel to a peer that its owner has allowed by address, and to no other.
 * Whoever asks by the gateway is told so here; what leaves is decided by the policy itself, so that who asks inside, or has a peer that is not allowed
 * any more, gets a tunnel that nothing comes through.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fail, type AppError } from '../../../../shared/errors.ts'
import { jsonText } from '../../../../shared/route.ts'
import { sandboxHeaders } from '../../../../shared/wire/sandbox-headers.ts'
import { peerInBody } from '../../../../shared/tunnel-peer.ts'
import { configureTunnel } from '../../../../shared/wire/tunnel.ts'
import type { Instance } from '../../../core/store/store.ts'
import type { Answers } from './answers.ts'
import { isBodiless } from './exchange.ts'
import { readAhead } from './read-ahead.ts'

const wanted = /^\/network\/tunnel\/config\/?(?:\?|$)/
const mostBytes = configureTunnel.bodyLimit ?? 0

export interface HeldMachines {
  /** Whether the owner's machines are held to a policy. */
  holds(owner: string): boolean
  /** Whether their policy lets UDP go there. */
  lets(owner: string, address: string, port: number): boolean
}

const refusal = ({ lets }: HeldMachines, { owner }: Instance, body: Buffer): AppError | undefined => {
  const peer = peerInBody(body.toString('utf8'))
  // What cannot be read the daemon refuses, and says why.
  if (!peer) return undefined
  const { kind, name, uid } = owner
  const { host, port } = peer
  if (lets(uid, host, port)) return undefined
  const to = `${host}:${port}`
  const next = /^[\d.]+$/.test(host) ? `while "${to}" is not in its allowedDomains` : `(give the address of ${host})`
  return fail('wrong_state', { kind, name, state: 'held to an outbound policy', wanted: `a tunnel to ${to} ${next}` })
}

const refuse = (request: IncomingMessage, response: ServerResponse, error: AppError): void => {
  request.resume()
  response.writeHead(error.status, { ...sandboxHeaders, 'content-type': 'application/json; charset=utf-8' })
  response.end(jsonText({ error: error.message }))
}

/** What `others` answers, and 409 for a tunnel of a held machine to a peer that is not allowed. */
export const allowedTunnels = (machines: HeldMachines, others: Answers | undefined): Answers => {
  const asks: Answers['takes'] = ({ owner }, method, target) =>
    method === 'PUT' && wanted.test(target) && machines.holds(owner.uid)
  return {
    takes: (instance, method, target, peek) =>
      asks(instance, method, target) || (others?.takes(instance, method, target, peek) ?? false),
    async answer(call) {
      const { instance, target, request, response } = call
      if (!asks(instance, request.method ?? 'GET', target)) return others?.answer(call)
      if (isBodiless(request)) return 'pass'
      const body = await readAhead(request, mostBytes)
      if (body === 'gone') return undefined
      if (body === 'empty') return refuse(request, response, fail('invalid_body', { reason: 'empty' }))
      const error =
        typeof body === 'string' ? fail('payload_too_large', { limit: mostBytes }) : refusal(machines, instance, body)
      return error ? refuse(request, response, error) : 'pass'
    },
  }
}
