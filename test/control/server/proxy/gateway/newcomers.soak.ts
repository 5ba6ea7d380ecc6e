/** As newcomers.test.ts, after handshakes of TLS, a thousand of which take seconds. */
import { connect } from 'node:tls'
import t from 'tap'
import { oldestGoes } from '../../../../support/newcomers.ts'
import { tlsPlace } from '../../../../support/tls-place.ts'
import { testHost } from '../../../../support/whole-host.ts'

t.test('by TLS: after a handshake', async t => {
  const tls = tlsPlace()
  const { host } = await testHost(t, { config: { tls: tls.config } })
  const { port } = await host.listen()
  const { ca } = tls.at(port) as { ca: string }
  await oldestGoes(t, () => connect({ port, host: '127.0.0.1', ca, servername: 'localhost' }), 'secureConnect')
})
