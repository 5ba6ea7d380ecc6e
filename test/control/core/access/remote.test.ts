/** Who is at the other end of a request that proxies have passed on. */
import t from 'tap'
import { remoteBehind } from '../../../../control/core/access/remote.ts'
import { openTestHost } from '../../../support/whole-host.ts'

const of = (trusted: readonly string[], remoteAddress: string, forwarded?: string) =>
  remoteBehind(trusted)({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  })

t.test('whom a trusted proxy names is who calls, and nobody names themselves', async t => {
  t.equal(of([], '127.0.0.1', '1.2.3.4'), '127.0.0.1', 'no proxy is trusted unless it is named')
  t.equal(of(['127.0.0.1'], '127.0.0.1', '1.2.3.4'), '1.2.3.4')
  t.equal(of(['127.0.0.1'], '::ffff:127.0.0.1', '1.2.3.4'), '1.2.3.4')
  t.equal(of(['127.0.0.1'], '8.8.8.8', '1.2.3.4'), '8.8.8.8', 'somebody who comes past the proxy')
  t.equal(of(['127.0.0.1'], '127.0.0.1'), '127.0.0.1')
  t.equal(of(['127.0.0.1'], '127.0.0.1', '9.9.9.9, 1.2.3.4'), '1.2.3.4', 'what a client wrote before counts nothing')
  t.equal(of(['127.0.0.1', '10.0.0.0/8'], '127.0.0.1', '9.9.9.9, 1.2.3.4, 10.1.1.1'), '1.2.3.4', 'two proxies')
  t.equal(of(['10.0.0.0/8'], '10.0.0.1', 'unknown'), '10.0.0.1')
  t.equal(of(['10.0.0.0/8'], '10.0.0.1', '1.2.3.4, _hidden'), '10.0.0.1', 'what is no address ends the chain')
  t.equal(of(['fd00::/8'], 'fd00::1', '2001:db8::7'), '2001:db8::7')
})

t.test('attempts are counted and written down by who calls', async t => {
  const { host, api } = await openTestHost(t, t.testdir(), { config: { trustedProxies: ['127.0.0.1'] } })
  const { url } = await host.listen()
  const from = (address: string) =>
    fetch(`${url}/v0/sandboxes`, {
      headers: { authorization: 'Bearer wrong', 'x-forwarded-for': `6.6.6.6, ${address}` },
    })
  t.equal((await from('1.2.3.4')).status, 401)
  const { data } = (await api('GET', '/audit?everyWorkspace=true&action=denied')).body
  t.equal(data[0].remote, '1.2.3.4')
})
