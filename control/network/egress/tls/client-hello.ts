/**
 * The first message of TLS, read before anything is decided: which name the client asks for. Records and segments may cut it
 * anywhere; it is put together first, within bounds (RFC 8446, sections 4.1.2 and 5.1).
 */
import { canonicalHost } from '../../../../shared/policy/host.ts'

export interface ClientHello {
  /** Canonical; undefined when the client names none. */
  readonly serverName: string | undefined
  /** Application protocols in the client's order, such as `h2`. */
  readonly protocols: readonly string[]
  /** The true name may be hidden in it: Encrypted Client Hello, or a client that pretends (GREASE). */
  readonly encrypted: boolean
}

export type Parsed =
  | { readonly kind: 'hello'; readonly hello: ClientHello }
  /** More bytes are needed. */
  | { readonly kind: 'more' }
  | { readonly kind: 'bad'; readonly problem: string }

const handshakeRecord = 22
const clientHello = 1
const maxRecord = 16_384 + 256
export const maxHello = 32_768
const maxRecords = 64

const extensions = { serverName: 0, alpn: 16, ech: 0xfe0d } as const

class Bad extends Error {}

/** Reads numbers and vectors off the front; runs over the end only to throw. */
class Reader {
  readonly #bytes: Buffer
  #at = 0
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }
  get left(): number {
    return this.#bytes.length - this.#at
  }
  number(size: 1 | 2 | 3): number {
    if (this.left < size) throw new Bad('it is cut short')
    const value = this.#bytes.readUIntBE(this.#at, size)
    this.#at += size
    return value
  }
  bytes(length: number): Buffer {
    if (this.left < length) throw new Bad('it is cut short')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
  vector(size: 1 | 2 | 3): Reader {
    return new Reader(this.bytes(this.number(size)))
  }
}

const readServerName = (extension: Reader): string => {
  const list = extension.vector(2)
  const type = list.number(1)
  const name = list.bytes(list.number(2)).toString('latin1')
  if (type !== 0 || list.left > 0 || extension.left > 0) throw new Bad('its list of server names is not one name')
  const host = canonicalHost(name)
  if (host === undefined || name.endsWith('.')) throw new Bad('its server name is none')
  return host
}

const readProtocols = (extension: Reader): string[] => {
  const list = extension.vector(2)
  const protocols: string[] = []
  while (list.left > 0) protocols.push(list.bytes(list.number(1)).toString('latin1'))
  return protocols
}

const readBody = (body: Reader): ClientHello => {
  body.bytes(2 + 32)
  body.vector(1)
  body.vector(2)
  body.vector(1)
  const found: { serverName: string | undefined; protocols: string[]; encrypted: boolean } = {
    serverName: undefined,
    protocols: [],
    encrypted: false,
  }
  if (body.left === 0) return found
  const list = body.vector(2)
  if (body.left > 0) throw new Bad('something follows its extensions')
  const seen = new Set<number>()
  while (list.left > 0) {
    const type = list.number(2)
    const extension = list.vector(2)
    // Twice the same: two programs may each take another one.
    if (seen.has(type)) throw new Bad('an extension stands twice')
    seen.add(type)
    if (type === extensions.serverName) found.serverName = readServerName(extension)
    else if (type === extensions.alpn) found.protocols = readProtocols(extension)
    else if (type === extensions.ech) found.encrypted = true
  }
  return found
}

/** The handshake bytes of the records so far; undefined when a record is not complete. */
const handshakeOf = (bytes: Buffer): { message: Buffer; records: number } => {
  const pieces: Buffer[] = []
  let at = 0
  while (at + 5 <= bytes.length) {
    const length = bytes.readUInt16BE(at + 3)
    if (bytes[at] !== handshakeRecord || bytes[at + 1] !== 3) throw new Bad('a record that is no handshake')
    if (length === 0 || length > maxRecord) throw new Bad('a record of that length')
    if (at + 5 + length > bytes.length) break
    pieces.push(bytes.subarray(at + 5, at + 5 + length))
    at += 5 + length
  }
  return { message: pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces), records: pieces.length }
}

/** Reads the hello off the first bytes of a connection. */
export const parseClientHello = (bytes: Buffer): Parsed => {
  try {
    const { message, records } = handshakeOf(bytes)
    if (message.length >= 4) {
      if (message[0] !== clientHello) throw new Bad('it does not begin with a hello')
      const length = message.readUIntBE(1, 3)
      if (length > maxHello) throw new Bad('it is too long')
      if (message.length > 4 + length) throw new Bad('something follows it')
      if (message.length === 4 + length) return { kind: 'hello', hello: readBody(new Reader(message.subarray(4))) }
    }
    if (bytes.length > maxHello + 5 * maxRecords || records > maxRecords) throw new Bad('it is too long')
    return { kind: 'more' }
  } catch (error) {
    if (error instanceof Bad) return { kind: 'bad', problem: error.message }
    throw error
  }
}
