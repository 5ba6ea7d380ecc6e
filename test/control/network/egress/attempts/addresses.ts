/** Addresses: odd notations, closed networks, and names that turn into them. */
import { ask } from '../../../../support/internet/sandbox.ts'
import { addresses as at } from '../../../../support/internet/network.ts'
import type { Attempt, Try } from './attempt.ts'

const plain = (name: string, host: string, passesWhenOpen = false): Attempt => ({
  name,
  passesWhenOpen,
  run: ({ sandbox, token }) =>
    sandbox.say(`GET http://${host}/${token} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
})

/** Closed whatever the policy says: tried under an open one. */
const closed = (name: string, host: string): Attempt => ({ ...plain(name, host), policy: {} })

const tunnel = (name: string, authority: string, policy?: object): Attempt => ({
  name,
  passesWhenOpen: false,
  ...(policy && { policy }),
  async run({ sandbox, token }) {
    const socket = await sandbox.tunnel(authority)
    if ('write' in socket)
      await ask(socket, `GET /${token} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`)
  },
})

/** A name that the attacker's DNS answers as it likes. */
const named = (name: string, host: string, answers: () => readonly string[], times = 1): Attempt => ({
  name,
  passesWhenOpen: false,
  policy: { allowedDomains: [host] },
  async run({ sandbox, names, token }: Try) {
    names.table.set(host, answers)
    for (let time = 0; time < times; time++) await sandbox.get(`http://${host}:8080/${token}`)
  },
})

export const addressAttempts: readonly Attempt[] = [
  plain('an address instead of a name', at.cdn, true),
  plain('as one decimal number', '3405803786'),
  plain('in hexadecimal', '0xcb00710a'),
  plain('in octal', '0313.0.0161.012'),
  plain('with zeros in front', '203.000.113.010'),
  plain('in IPv6 clothes', '[::ffff:203.0.113.10]'),
  closed('loopback', '127.0.0.1'),
  closed('loopback, short', '127.1'),
  closed('loopback, another of its addresses', '127.0.0.2'),
  closed('loopback, IPv6', '[::1]'),
  closed('any address', '0.0.0.0'),
  closed('the metadata service', at.metadata),
  closed('the metadata service as a number', '2852039166'),
  closed('a private network', at.private),
  closed('a carrier network', at.shared),
  closed("the host's own address", at.host),
  closed("the engine's own address", at.engine),
  closed('localhost by name', 'localhost'),
  closed('a name of the local network', 'printer.local'),
  closed('an internal name', 'metadata.google.internal'),
  tunnel('CONNECT to loopback', '127.0.0.1:8080', {}),
  tunnel('CONNECT to the metadata service', `${at.metadata}:80`, {}),
  tunnel("CONNECT to the host's own address", `${at.host}:8080`, {}),
  tunnel('CONNECT without a port', at.cdn),
  tunnel('CONNECT to port 0', `${at.cdn}:0`),
  named('a name that is loopback', 'loop.example', () => ['127.0.0.1']),
  named('a name that is the metadata service', 'meta.example', () => [at.metadata]),
  named('a name that is private', 'inner.example', () => [at.private]),
  named('an alias of a private name', 'alias.example', () => ['→ inner.example', at.private]),
  {
    name: 'a name that was public when it was looked at (rebinding)',
    passesWhenOpen: false,
    policy: { allowedDomains: ['rebind.example'] },
    async run({ sandbox, names, token }) {
      let asked = 0
      names.table.set('rebind.example', () => (asked++ === 0 ? [at.single] : [at.host, '127.0.0.1']))
      await sandbox.resolve('rebind.example')
      for (const address of [at.host, '127.0.0.1']) {
        const socket = await sandbox.dial(address, 8080)
        await ask(socket, `GET /${token} HTTP/1.1\r\nHost: rebind.example\r\nConnection: close\r\n\r\n`)
      }
    },
  },
  {
    name: 'an alias of a forbidden name',
    passesWhenOpen: true,
    policy: { allowedDomains: ['cloak.example'], forbiddenDomains: ['forbidden.example'] },
    run({ sandbox, names, token }) {
      names.table.set('cloak.example', ['→ forbidden.example'])
      return sandbox.get(`http://cloak.example/${token}`)
    },
  },
]
