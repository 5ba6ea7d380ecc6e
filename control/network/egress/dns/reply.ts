/** DNS answers as bytes. */
import packet, { type DecodedPacket, type Question } from 'dns-packet'

export interface Reply {
  readonly rcode: 'NOERROR' | 'FORMERR' | 'SERVFAIL' | 'NXDOMAIN' | 'NOTIMP' | 'REFUSED'
  readonly addresses?: readonly string[]
  readonly ttlMs?: number
  /** RFC 8914: 15 blocked, 17 filtered; told to those who speak EDNS. */
  readonly extended?: number
}

const codes = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const
const extendedErrorOption = 15

const edns = (extended: number | undefined) => {
  const data = Buffer.alloc(2)
  data.writeUInt16BE(extended ?? 0)
  const options = extended === undefined ? [] : [{ code: extendedErrorOption, data }]
  return { type: 'OPT', name: '.', udpPayloadSize: 1232, flags: 0, options }
}

/** The answer to `query`, in the spelling it was asked. At most sixteen addresses: below 512 bytes with the longest name. */
export const reply = (query: DecodedPacket, what: Reply): Buffer => {
  const { rcode, addresses = [], ttlMs = 0, extended } = what
  const questions = (query.questions ?? []).slice(0, 1) as Question[]
  const name = questions[0]?.name ?? '.'
  const speaksEdns = (query.additionals ?? []).some(record => (record.type as string) === 'OPT')
  return packet.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: packet.RECURSION_AVAILABLE | ((query.flags ?? 0) & packet.RECURSION_DESIRED) | codes[rcode],
    questions,
    answers: addresses.map(data => ({ type: 'A', class: 'IN', name, ttl: Math.ceil(ttlMs / 1000), data })),
    additionals: (speaksEdns ? [edns(extended)] : []) as never,
  })
}
