/** Asks a DNS server for the IPv4 addresses of one name: a fresh socket and number each time, TCP where the answer was cut. */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect } from 'node:net'
import packet, { type DecodedPacket } from 'dns-packet'
import { fail, messageOf } from '../../../../shared/errors.ts'

export interface Server {
  readonly host: string
  readonly port: number
}

const maxUdp = 1232
const maxTcp = 65_535
const timeoutMs = 2_000

const question = (name: string, id: number): Buffer =>
  packet.encode({
    type: 'query',
    id,
    flags: packet.RECURSION_DESIRED,
    questions: [{ type: 'A', name, class: 'IN' }],
    additionals: [{ type: 'OPT', name: '.', udpPayloadSize: maxUdp, flags: 0, options: [] }] as never,
  })

/** The message, if it answers just what was asked. */
const answerTo = (bytes: Buffer, name: string, id: number): DecodedPacket | undefined => {
  let message: DecodedPacket
  try {
    message = packet.decode(bytes)
  } catch {
    // Not a DNS message: from somebody who guesses, or from a broken server. The real one may still come.
    return undefined
  }
  const [asked, ...more] = message.questions ?? []
  const fits = message.id === id && message.type === 'response' && asked?.type === 'A' && more.length === 0
  return fits && asked.name.toLowerCase().replace(/\.$/, '') === name ? message : undefined
}

const unreachable = ({ host, port }: Server, reason: string) =>
  fail('unavailable', { what: `DNS server ${host}:${port}: ${reason}`, next: 'check the name servers of this host' })

const overUdp = (server: Server, name: string, id: number): Promise<DecodedPacket> =>
  new Promise((resolve, reject) => {
    const socket = createSocket('udp4')
    const finish = (run: () => void) => {
      clearTimeout(timer)
      socket.close()
      run()
    }
    const timer = setTimeout(() => finish(() => reject(unreachable(server, 'no answer'))), timeoutMs)
    socket.on('error', error => finish(() => reject(unreachable(server, messageOf(error)))))
    // Connected: the kernel takes nothing from another address.
    socket.connect(server.port, server.host, () => socket.send(question(name, id)))
    socket.on('message', bytes => {
      const message = answerTo(bytes, name, id)
      if (message) finish(() => resolve(message))
    })
  })

const overTcp = (server: Server, name: string, id: number): Promise<DecodedPacket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: server.host, port: server.port, noDelay: true })
    const finish = (run: () => void) => {
      socket.destroy()
      run()
    }
    socket.setTimeout(timeoutMs, () => finish(() => reject(unreachable(server, 'no answer'))))
    socket.on('error', error => finish(() => reject(unreachable(server, messageOf(error)))))
    socket.on('close', () => reject(unreachable(server, 'it closed the connection')))
    const asked = question(name, id)
    const length = Buffer.alloc(2)
    length.writeUInt16BE(asked.length)
    socket.on('connect', () => socket.write(Buffer.concat([length, asked])))
    let seen: Buffer = Buffer.alloc(0)
    socket.on('data', piece => {
      seen = Buffer.concat([seen, piece])
      if (seen.length < 2 || seen.length < 2 + seen.readUInt16BE(0)) {
        if (seen.length > maxTcp + 2) finish(() => reject(unreachable(server, 'its answer is too long')))
        return
      }
      const message = answerTo(seen.subarray(2, 2 + seen.readUInt16BE(0)), name, id)
      finish(() => (message ? resolve(message) : reject(unreachable(server, 'its answer is none'))))
    })
  })

/** One server's answer about a canonical name. Throws `unavailable` when there is none in time. */
export const askServer = async (server: Server, name: string): Promise<DecodedPacket> => {
  const message = await overUdp(server, name, randomInt(65_536))
  return message.flag_tc ? overTcp(server, name, randomInt(65_536)) : message
}
