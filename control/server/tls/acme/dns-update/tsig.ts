/** Transaction signatures (RFC 8945): a message that only who has the key can have sent, a few minutes around now. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { TsigKey } from './key.ts'
import { codeName, encodeName, uint16, uint32 } from './message.ts'

const type = 250
const anyClass = 255
/** Seconds that clocks may differ. */
const fudgeS = 300
const headBytes = 12

const time48 = (seconds: number): Buffer =>
  Buffer.concat([uint16(Math.floor(seconds / 2 ** 32)), uint32(seconds % 2 ** 32)])

interface Variables {
  readonly signedS: number
  readonly fudgeS: number
  readonly error: number
  readonly other: Buffer
}

/** What is digested behind the message (section 4.3.3). */
const variablesOf = ({ name, algorithm }: TsigKey, { signedS, fudgeS: fudge, error, other }: Variables): Buffer =>
  Buffer.concat([
    encodeName(name),
    uint16(anyClass),
    uint32(0),
    encodeName(algorithm),
    time48(signedS),
    uint16(fudge, error, other.length),
    other,
  ])

const digest = ({ hash, secret }: TsigKey, ...parts: readonly Buffer[]): Buffer =>
  createHmac(hash, secret).update(Buffer.concat(parts)).digest()

export interface Signed {
  readonly message: Buffer
  readonly mac: Buffer
}

/** `nowS` is the time of day in seconds. */
export const sign = (message: Buffer, key: TsigKey, nowS: number): Signed => {
  const variables = { signedS: nowS, fudgeS, error: 0, other: Buffer.alloc(0) }
  const mac = digest(key, message, variablesOf(key, variables))
  const data = Buffer.concat([
    encodeName(key.algorithm),
    time48(nowS),
    uint16(fudgeS, mac.length),
    mac,
    message.subarray(0, 2),
    uint16(0, 0),
  ])
  const record = Buffer.concat([encodeName(key.name), uint16(type, anyClass), uint32(0), uint16(data.length), data])
  const signed = Buffer.concat([message, record])
  signed.writeUInt16BE(message.readUInt16BE(10) + 1, 10)
  return { message: signed, mac }
}

/** Where the name that begins at `at` ends. A pointer ends it. */
const afterName = (message: Buffer, at: number): number => {
  for (let here = at; ; ) {
    const length = message.readUInt8(here)
    if (length === 0) return here + 1
    if (length >= 0xc0) return here + 2
    here += length + 1
  }
}

/** Where the last record begins. */
const lastRecord = (message: Buffer): number => {
  let at = headBytes
  for (let left = message.readUInt16BE(4); left > 0; left--) at = afterName(message, at) + 4
  let begun = at
  for (let left = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10); left > 0; left--) {
    begun = at
    const fixed = afterName(message, at)
    at = fixed + 10 + message.readUInt16BE(fixed + 8)
  }
  return begun
}

/** Throws unless the answer is signed with the key, for that request, about now (sections 5.2 and 5.3). */
export const verify = (answer: Buffer, request: Signed, key: TsigKey, nowS: number): void => {
  const at = lastRecord(answer)
  const fixed = afterName(answer, at)
  if (answer.readUInt16BE(10) === 0 || answer.readUInt16BE(fixed) !== type) throw new Error('the answer is not signed')
  const data = afterName(answer, fixed + 10)
  const signedS = answer.readUInt16BE(data) * 2 ** 32 + answer.readUInt32BE(data + 2)
  const [fudge, size] = [answer.readUInt16BE(data + 6), answer.readUInt16BE(data + 8)]
  const mac = answer.subarray(data + 10, data + 10 + size)
  const rest = data + 10 + size
  const [id, error, length] = [answer.readUInt16BE(rest), answer.readUInt16BE(rest + 2), answer.readUInt16BE(rest + 4)]
  if (error !== 0) throw new Error(`the server refuses the key: ${codeName(error)}`)
  const bare = Buffer.from(answer.subarray(0, at))
  bare.writeUInt16BE(id, 0)
  bare.writeUInt16BE(answer.readUInt16BE(10) - 1, 10)
  const variables = { signedS, fudgeS: fudge, error, other: answer.subarray(rest + 6, rest + 6 + length) }
  const wanted = digest(key, uint16(request.mac.length), request.mac, bare, variablesOf(key, variables))
  if (mac.length !== wanted.length || !timingSafeEqual(mac, wanted))
    throw new Error('the signature of the answer is wrong')
  if (Math.abs(signedS - nowS) > fudge) throw new Error('the answer was signed at another time')
}
