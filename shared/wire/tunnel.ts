/** The tunnel of a sandbox: how all of its outbound traffic, or some of it, goes through a WireGuard peer. */
import { route } from '../route.ts'
import { s, text } from '../schema.ts'

const success = s.object({ path: s.string(), message: s.string() })

export const configureTunnel = route('PUT /network/tunnel/config', {
  id: 'tunnel.configure',
  summary: 'Brings the tunnel up, in place of the one that runs; when it cannot, nothing gets out of the sandbox',
  body: s.object({
    /** Base64 of a JSON document; its fields are those of `daemon/tunnel/document.ts`. */
    config: text(1_000_000).check(s.minLength(1, 'must not be empty')),
  }),
  bodyLimit: 2 * 1024 * 1024,
  returns: success,
  // The last is the host's answer, for a sandbox that is held to an outbound policy.
  errors: ['invalid_body', 'unprocessable', 'operation_failed', 'wrong_state'],
})

export const stopTunnel = route('DELETE /network/tunnel', {
  id: 'tunnel.stop',
  summary: 'Takes the tunnel down; from then on nothing gets out of the sandbox, until a tunnel is configured again',
  returns: success,
  errors: ['invalid_argument'],
})
