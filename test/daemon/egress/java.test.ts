import { createHash, X509Certificate } from 'node:crypto'
import t from 'tap'
import { javaOptions, trustStoreOf } from '../../../daemon/egress/java.ts'
import { makeAuthorityKeys } from '../../../control/network/egress/ca/authority.ts'

t.test('a trust store holds each certificate of a bundle, as Java reads it', async t => {
  const pems = ['One', 'Two'].map(name => makeAuthorityKeys(name, Date.now()).certificate)
  const store = trustStoreOf(`words before\n${pems.join('\nand between\n')}`)
  t.same([store.readUInt32BE(0), store.readUInt32BE(4), store.readUInt32BE(8)], [0xfeedfeed, 2, 2])
  let at = 12
  for (const [index, pem] of pems.entries()) {
    const alias = `authority-${index}`
    t.equal(store.readUInt32BE(at), 2, 'trusted')
    t.equal(store.toString('latin1', at + 6, at + 6 + alias.length), alias)
    const type = at + 6 + alias.length + 8
    t.equal(store.toString('latin1', type + 2, type + 7), 'X.509')
    const size = store.readUInt32BE(type + 7)
    const found = new X509Certificate(store.subarray(type + 11, type + 11 + size))
    t.equal(found.fingerprint256, new X509Certificate(pem).fingerprint256)
    at = type + 11 + size
  }
  const salt = Buffer.from('\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite', 'latin1')
  t.same(store.subarray(at), createHash('sha1').update(salt).update(store.subarray(0, at)).digest())
  t.equal(trustStoreOf('').readUInt32BE(8), 0)
})

t.test('Java is told of the store and of proxies; what its user says wins', async t => {
  const store = '-Djavax.net.ssl.trustStore=/x.jks -Djavax.net.ssl.trustStoreType=JKS'
  t.equal(javaOptions({}, '/x.jks'), store)
  t.equal(javaOptions({ JAVA_TOOL_OPTIONS: '-Xmx1g', no_proxy: 'a' }, '/x.jks'), `${store} -Xmx1g`)
  const proxy = 'http://user:word@proxy.corp:3128'
  t.equal(
    javaOptions({ http_proxy: proxy, https_proxy: 'http://proxy', no_proxy: 'localhost,10.0.0.0/8,.corp' }, '/x.jks'),
    `${store} -Dhttp.proxyHost=proxy.corp -Dhttp.proxyPort=3128 -Dhttps.proxyHost=proxy -Dhttps.proxyPort=80 -Dhttp.nonProxyHosts=localhost|*.corp`,
  )
  t.equal(javaOptions({ http_proxy: 'socks5://proxy', https_proxy: 'no address' }, '/x.jks'), store)
})
