import { randomBytes, randomInt, randomUUID } from 'node:crypto'

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

export const randomIds = (): Ids => ({
  uuid: () => randomUUID(),
  short: length => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join(''),
  secret: bytes => randomBytes(bytes).toString('base64url'),
})
