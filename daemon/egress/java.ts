/** What Java is told of certificates and proxies: it reads neither PEM files nor the variables that all others read. */
import { createHash } from 'node:crypto'

/** Java's own format of certificates (JKS, version 2), which every release reads, and without a password, which nothing here hides behind. */
const magic = 0xfeedfeed
const trustedEntry = 2

/** What Java puts before the entries when it makes the digest at the end; it is not looked at without a password. */
const salt = Buffer.concat([Buffer.from('changeit', 'utf16le').swap16(), Buffer.from('Mighty Aphrodite')])

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const word = (text: string): Buffer => {
  const size = Buffer.alloc(2)
  size.writeUInt16BE(text.length)
  return Buffer.concat([size, Buffer.from(text, 'latin1')])
}

const pem = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----([\sA-Za-z0-9+/=]+)-----END/g

/** The certificates of a PEM file as a trust store. */
export const trustStoreOf = (certificates: string): Buffer => {
  const all = [...certificates.matchAll(pem)].map(([, body = '']) => Buffer.from(body, 'base64'))
  const entries = all.flatMap((certificate, at) => [
    number(trustedEntry),
    word(`authority-${at}`),
    Buffer.alloc(8),
    word('X.509'),
    number(certificate.length),
    certificate,
  ])
  const store = Buffer.concat([number(magic), number(2), number(all.length), ...entries])
  return Buffer.concat([store, createHash('sha1').update(salt).update(store).digest()])
}

const proxyOptions = (scheme: 'http' | 'https', proxy: string | undefined): string[] => {
  const url = proxy && URL.canParse(proxy) ? new URL(proxy) : undefined
  if (!url || url.protocol !== 'http:') return []
  return [`-D${scheme}.proxyHost=${url.hostname}`, `-D${scheme}.proxyPort=${url.port || '80'}`]
}

/** `a.corp,.b.corp` → `a.corp|*.b.corp`; networks are unknown to Java. */
const pastProxy = (names: string | undefined): string[] => {
  const hosts = (names ?? '')
    .split(/[\s,]+/)
    .filter(name => name && !name.includes('/'))
    .map(name => (name.startsWith('.') ? `*${name}` : name))
  return hosts.length > 0 ? [`-Dhttp.nonProxyHosts=${hosts.join('|')}`] : []
}

/** `JAVA_TOOL_OPTIONS` with the trust store and the proxies of an environment; options that are there already come last and so win. */
export const javaOptions = (environment: Readonly<Record<string, string | undefined>>, trustStore: string): string => {
  const proxies = [
    ...proxyOptions('http', environment['http_proxy']),
    ...proxyOptions('https', environment['https_proxy']),
  ]
  return [
    `-Djavax.net.ssl.trustStore=${trustStore}`,
    '-Djavax.net.ssl.trustStoreType=JKS',
    ...proxies,
    ...(proxies.length > 0 ? pastProxy(environment['no_proxy']) : []),
    ...(environment['JAVA_TOOL_OPTIONS'] ? [environment['JAVA_TOOL_OPTIONS']] : []),
  ].join(' ')
}
