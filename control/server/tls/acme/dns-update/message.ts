/** Messages of dynamic updates (RFC 2136), as bytes. */
import dnsPacket from 'dns-packet'

const types = { SOA: 6, TXT: 16 } as const
const classes = { IN: 1, NONE: 254 } as const
/** RFC 2136, section 1.3; in the place of an opcode. */
const update = 5 << 11

export interface TextRecord {
  readonly name: string
  readonly value: string
  readonly ttlS: number
}

/** In whole and in lower case: where there is no pointer, what is signed is what is sent. */
export const encodeName = (name: string): Buffer => {
  const labels = name.toLowerCase().split('.').filter(Boolean)
  const tooLong = labels.find(label => Buffer.byteLength(label) > 63)
  if (tooLong !== undefined) throw new Error(`"${tooLong}" is longer than a part of a name can be`)
  const parts = labels.map(label => Buffer.concat([Buffer.from([Buffer.byteLength(label)]), Buffer.from(label)]))
  return Buffer.concat([...parts, Buffer.from([0])])
}

export const uint16 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [at, value] of values.entries()) bytes.writeUInt16BE(value, at * 2)
  return bytes
}

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Adds the record to the zone, or removes that very one (sections 2.5.1 and 2.5.4). */
export const encodeUpdate = (
  id: number,
  zone: string,
  change: { readonly add: TextRecord } | { readonly remove: TextRecord },
): Buffer => {
  const isAdded = 'add' in change
  const { name, value, ttlS } = isAdded ? change.add : change.remove
  const text = Buffer.from(value)
  if (text.length > 255) throw new Error('the text is longer than 255 bytes')
  const data = Buffer.concat([Buffer.from([text.length]), text])
  return Buffer.concat([
    uint16(id, update, 1, 0, 1, 0),
    encodeName(zone),
    uint16(types.SOA, classes.IN),
    encodeName(name),
    uint16(types.TXT, isAdded ? classes.IN : classes.NONE),
    uint32(isAdded ? ttlS : 0),
    uint16(data.length),
    data,
  ])
}

/** The zone that a name is in, from what a server answers to a question for its SOA; undefined when it says none. */
export const zoneIn = (answer: Buffer): string | undefined => {
  const { answers = [], authorities = [] } = dnsPacket.decode(answer)
  return [...answers, ...authorities].find(({ type }) => type === 'SOA')?.name
}

export const encodeQuestion = (id: number, name: string): Buffer =>
  Buffer.from(dnsPacket.encode({ type: 'query', id, questions: [{ type: 'SOA', name }] }))

/** RFC 1035, RFC 2136 and RFC 8945. */
const codes: Readonly<Record<number, string>> = {
  1: 'FORMERR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  4: 'NOTIMP',
  5: 'REFUSED',
  6: 'YXDOMAIN',
  7: 'YXRRSET',
  8: 'NXRRSET',
  9: 'NOTAUTH',
  10: 'NOTZONE',
  16: 'BADSIG',
  17: 'BADKEY',
  18: 'BADTIME',
  22: 'BADTRUNC',
}

export const codeName = (code: number): string => codes[code] ?? `code ${code}`

export const responseCode = (message: Buffer): number => message.readUInt16BE(2) & 0xf
