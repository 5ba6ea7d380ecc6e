/**
 * Secrets at rest: AES-256-GCM under a key that is not in the database.
 *
 *     sealed = "v1." base64url(nonce 12 bytes || ciphertext || tag 16 bytes)
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

export interface Sealer {
  seal(text: string): string
  /** Throws when the text was altered or sealed under another key. */
  open(sealed: string): string
}

const version = 'v1.'

export const createSealer = (key: string): Sealer => {
  const secret = createHash('sha256').update(key).digest()
  return {
    seal(text) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', secret, nonce)
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return version + sealed.toString('base64url')
    },
    open(sealed) {
      if (!sealed.startsWith(version)) throw new Error('not a sealed secret')
      const bytes = Buffer.from(sealed.slice(version.length), 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(-16))
      return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8')
    },
  }
}
