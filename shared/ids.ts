import { randomBytes } from 'node:crypto'

/** Identifiers and secrets, passed in. The only caller of the random source outside tests. */
export interface Ids {
  /** RFC 4122 version 4. */
  uuid(): string
  /** `length` characters of [a-z0-9]. */
  short(length: number): string
  /** `bytes` random bytes in base64url: unguessable. */
  secret(bytes: number): string
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** Bytes above this would make some characters likelier than others. */
const fair = 256 - (256 % alphabet.length)

/** Small pieces of one large draw: asking the kernel each time costs more than using them. */
export const drawnAtOnce = (random: (bytes: number) => Buffer, size = 256): ((bytes: number) => Buffer) => {
  let drawn: Buffer = Buffer.alloc(0)
  let at = 0
  return bytes => {
    if (bytes > size) return random(bytes)
    if (at + bytes > drawn.length) {
      drawn = random(size)
      at = 0
    }
    at += bytes
    return drawn.subarray(at - bytes, at)
  }
}

/** Identifiers from `random`, a source of that many unguessable bytes. */
export const idsFrom = (random: (bytes: number) => Buffer): Ids => ({
  uuid() {
    const bytes = random(16)
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
    const hex = bytes.toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  },
  short(length) {
    let text = ''
    while (text.length < length)
      for (const byte of random(length - text.length)) if (byte < fair) text += alphabet[byte % alphabet.length]
    return text
  },
  secret: bytes => random(bytes).toString('base64url'),
})

export const randomIds = (): Ids => idsFrom(drawnAtOnce(randomBytes, 4_096))
