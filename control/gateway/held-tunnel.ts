/**
 * A machine whose outbound traffic is held to a policy can have no tunnel: it would need UDP, which does not leave such a machine, and take the
 * way to the proxy. Whoever asks by the gateway is told so; who asks inside gets a tunnel that nothing comes through.
 */
import { fail } from '../../shared/errors.ts'
import { jsonText } from '../../shared/route.ts'
import { sandboxHeaders } from '../../shared/wire/sandbox-headers.ts'
import type { Answers } from './answers.ts'

const wanted = /^\/network\/tunnel\/config\/?(?:\?|$)/

/** What `others` answers, and 409 for a tunnel of a machine whose owner `holds`. */
export const withoutTunnels = (holds: (owner: string) => boolean, others: Answers | undefined): Answers => {
  const refused: Answers['takes'] = ({ owner }, method, target) =>
    method === 'PUT' && wanted.test(target) && holds(owner.uid)
  return {
    takes: (instance, method, target) =>
      refused(instance, method, target) || (others?.takes(instance, method, target) ?? false),
    async answer(call) {
      const { instance, target, request, response } = call
      if (!refused(instance, request.method ?? 'GET', target)) return others?.answer(call)
      const { kind, name } = instance.owner
      const error = fail('wrong_state', { kind, name, state: 'held to an outbound policy', wanted: 'a tunnel' })
      request.resume()
      response.writeHead(error.status, { ...sandboxHeaders, 'content-type': 'application/json; charset=utf-8' })
      response.end(jsonText({ error: error.message }))
    },
  }
}
