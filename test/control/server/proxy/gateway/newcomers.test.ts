/** Connections that have not brought a credential, at every listener of a host: the oldest of too many goes, and nobody who is known. */
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { oldestGoes } from '../../../../support/newcomers.ts'
import { raw, type Place } from '../../../../support/raw.ts'
import { tlsPlace } from '../../../../support/tls-place.ts'
import { testHost } from '../../../../support/whole-host.ts'

/** A connection that has brought a key, to the management API or to a sandbox; what it asks again is answered. */
const known = async (t: Test, place: Place, key: string, path: string) => {
  const ask = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
  const connection = await raw(t, place)
  connection.send(ask)
  await connection.seen(/^HTTP\/1\.1 \d/)
  return async () => {
    const before = connection.text().length
    connection.send(ask)
    await connection.seen(new RegExp(`^[^]{${before}}[^]*HTTP/1\\.1 \\d`))
  }
}

t.test('by plain HTTP', async t => {
  const { host, api } = await testHost(t)
  const { port } = await host.listen()
  await api('POST', '/sandboxes', { metadata: { name: 'web' }, spec: { runtime: { image: 'busybox' } } })
  const again = []
  for (const path of ['/v0/sandboxes', '/default/sandboxes/web/health'])
    again.push(await known(t, port, host.first.adminKey, path))
  await oldestGoes(t, () => connect(port, '127.0.0.1'))
  for (const ask of again) await ask()
})

t.test('by TLS: before a handshake, and where plain HTTP is led on', async t => {
  const { host } = await testHost(t, { config: { tls: { ...tlsPlace().config, httpPort: 0 } } })
  const { port, httpPort = 0 } = await host.listen()
  await oldestGoes(t, () => connect(port, '127.0.0.1'))
  await oldestGoes(t, () => connect(httpPort, '127.0.0.1'))
})
