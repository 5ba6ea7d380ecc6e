/** TXT records put into the zone of a name server, and taken out again, by signed dynamic updates over TCP. */
import { randomInt } from 'node:crypto'
import { connect } from 'node:net'
import type { NameServer } from '../../../../base/config/networks.ts'
import { readKey } from './key.ts'
import { codeName, encodeQuestion, encodeUpdate, responseCode, zoneIn, type TextRecord } from './message.ts'
import { sign, verify } from './tsig.ts'

export interface DnsUpdates {
  readonly server: NameServer
  /** File of the key. */
  readonly keyFile: string
}

/** For one exchange with the server. */
const patienceMs = 10_000

/** Sends one message and resolves with the one that answers it (RFC 1035, section 4.2.2). */
const exchanged = ({ host, port }: NameServer, message: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: patienceMs })
    let come = Buffer.alloc(0)
    const size = Buffer.alloc(2)
    size.writeUInt16BE(message.length)
    const failed = (reason: string) => {
      socket.destroy()
      reject(new Error(`the name server ${host}:${port} ${reason}`))
    }
    socket
      .once('connect', () => socket.write(Buffer.concat([size, message])))
      .once('timeout', () => failed('does not answer'))
      .once('error', error => failed(`cannot be asked: ${error.message}`))
      .once('close', () => failed('ends the connection without an answer'))
      .on('data', (piece: Buffer) => {
        come = Buffer.concat([come, piece])
        if (come.length < 2 || come.length < 2 + come.readUInt16BE(0)) return
        resolve(come.subarray(2, 2 + come.readUInt16BE(0)))
        socket.removeAllListeners('close').destroy()
      })
  })

const newId = (): number => randomInt(0x10000)

/** Throws when the server knows no zone of the name. */
const zoneOf = async (server: NameServer, name: string): Promise<string> => {
  const zone = zoneIn(await exchanged(server, encodeQuestion(newId(), name)))
  if (zone === undefined) throw new Error(`the name server ${server.host}:${server.port} has no zone with ${name}`)
  return zone
}

/** `nowS` is the time of day in seconds. Throws what the server or the network says. */
export const updateDns = async (
  { server, keyFile }: DnsUpdates,
  change: { readonly add: TextRecord } | { readonly remove: TextRecord },
  nowS: number,
): Promise<void> => {
  const { name } = 'add' in change ? change.add : change.remove
  const key = await readKey(keyFile)
  const request = sign(encodeUpdate(newId(), await zoneOf(server, name), change), key, nowS)
  const answer = await exchanged(server, request.message)
  const code = responseCode(answer)
  // A server that refuses the key may not sign what it says.
  if (code !== 0) throw new Error(`the name server refuses the update of ${name}: ${codeName(code)}`)
  verify(answer, request, key, nowS)
}
