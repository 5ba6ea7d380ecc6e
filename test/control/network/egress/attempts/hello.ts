/** Games with the TLS hello. */
import { ask } from '../../../../support/internet/sandbox.ts'
import type { Attempt } from './attempt.ts'

const u8 = (value: number): Buffer => Buffer.from([value])
const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])
const vector = (size: 1 | 2 | 3, ...parts: Buffer[]): Buffer => {
  const bytes = Buffer.concat(parts)
  const length = Buffer.alloc(size)
  length.writeUIntBE(bytes.length, 0, size)
  return Buffer.concat([length, bytes])
}
export const extension = (type: number, ...parts: Buffer[]): Buffer => Buffer.concat([u16(type), vector(2, ...parts)])
export const serverName = (...names: string[]): Buffer =>
  extension(0, vector(2, ...names.map(name => Buffer.concat([u8(0), vector(2, Buffer.from(name, 'latin1'))]))))

/** The handshake message; its random bytes carry the token. */
export const hello = (token: string, ...extensions: Buffer[]): Buffer => {
  const random = Buffer.alloc(32, token)
  const body = Buffer.concat([
    u16(0x0303),
    random,
    vector(1),
    vector(2, u16(0x1301)),
    vector(1, u8(0)),
    vector(2, ...extensions),
  ])
  return Buffer.concat([u8(1), vector(3, body)])
}

export const record = (message: Buffer): Buffer => Buffer.concat([u8(22), u16(0x0301), vector(2, message)])

/** Cut into records of so many bytes. */
const inRecords = (message: Buffer, size: number): Buffer => {
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += size) records.push(record(message.subarray(at, at + size)))
  return Buffer.concat(records)
}

/** Sends to port 7000 of an allowed host, which writes down every byte that comes. */
const sends = (name: string, pieces: (token: string) => Buffer[], passesWhenOpen = true, waitMs = 0): Attempt => ({
  name,
  passesWhenOpen,
  async run({ sandbox, token }) {
    const socket = await sandbox.tunnel('single.example:7000')
    if (!('write' in socket)) return
    if (waitMs > 0) await new Promise(resolve => setTimeout(resolve, waitMs))
    const all = pieces(token)
    for (const piece of all.slice(0, -1)) {
      socket.write(piece)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    await ask(socket, all.at(-1) as Buffer)
  },
})

const evil = (token: string): Buffer => hello(token, serverName('evil.example'))
const single = serverName('single.example')

const bytewise = (bytes: Buffer): Buffer[] => [...bytes].map(byte => Buffer.from([byte]))

export const hellos: readonly Attempt[] = [
  sends('another name', token => [record(evil(token))], false),
  sends('another name, in records of seven bytes', token => [inRecords(evil(token), 7)], false),
  sends('another name, byte by byte', token => bytewise(record(evil(token))), false),
  sends('two names in one list', token => [record(hello(token, serverName('single.example', 'evil.example')))], false),
  sends('two lists of names', token => [record(hello(token, single, serverName('evil.example')))], false),
  sends('a name with NUL', token => [record(hello(token, serverName('single.example\0.evil.example')))], false),
  sends('a name with a dot at its end', token => [record(hello(token, serverName('single.example.')))], false),
  sends('an address as name', token => [record(hello(token, serverName('198.51.100.66')))], false),
  sends('an empty name', token => [record(hello(token, serverName('')))], false),
  sends('no name where there are lists', token => [record(hello(token))], true),
  sends(
    'a name that may be a mask (ECH)',
    token => [record(hello(token, single, extension(0xfe0d, Buffer.alloc(40, 1))))],
    true,
  ),
  sends(
    'a hello that says it is longer than it is',
    token => [record(Buffer.concat([u8(1), u8(0), u16(60_000), Buffer.from(token)]))],
    false,
  ),
  sends('empty records', token => [Buffer.concat([record(Buffer.alloc(0)), record(evil(token))])], false),
  sends(
    'an alert before the hello',
    token => [Buffer.concat([Buffer.from([21, 3, 1, 0, 2, 1, 0]), record(evil(token))])],
    false,
  ),
  sends('SSL 2', token => [Buffer.concat([Buffer.from([0x80, 0x2e, 1, 3, 1]), Buffer.from(token.padEnd(43))])], false),
  sends('another name, when the server has had its time to speak first', token => [record(evil(token))], false, 1_100),
  sends(
    'HTTP for another host, when the server has had its time',
    token => [Buffer.from(`GET /${token} HTTP/1.1\r\nHost: evil.example\r\n\r\n`)],
    false,
    1_100,
  ),
  sends(
    'HTTP/2 for another host without TLS',
    token => [Buffer.from(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${token}`)],
    false,
  ),
]
