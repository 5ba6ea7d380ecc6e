/** Takes a connection's secrets out of what comes back, byte for byte of the same length. */

/** Shorter ones would be found in ordinary text. */
const shortest = 8

export interface Masking {
  /** A piece as it may be passed on; what may be the beginning of a secret is held until the next one. */
  piece(bytes: Buffer): Buffer
  /** What was held. */
  rest(): Buffer
  /** Something that is whole. */
  whole(bytes: Buffer): Buffer
}

const nothing: Buffer = Buffer.alloc(0)

const star = 42

export const maskable = (secrets: readonly string[]): string[] => secrets.filter(secret => secret.length >= shortest)

export const masking = (secrets: readonly string[]): Masking => {
  const all = maskable(secrets).map(secret => Buffer.from(secret))
  const longest = Math.max(0, ...all.map(({ length }) => length))
  let held = nothing
  const whole = (bytes: Buffer): Buffer => {
    let masked = bytes
    for (const secret of all)
      for (let at = bytes.indexOf(secret); at >= 0; at = bytes.indexOf(secret, at + 1)) {
        if (masked === bytes) masked = Buffer.from(bytes)
        masked.fill(star, at, at + secret.length)
      }
    return masked
  }
  /** Where a secret begins that may go on in the next piece; the length where none does. */
  const beginOfSecret = (bytes: Buffer): number => {
    for (let at = Math.max(0, bytes.length - longest + 1); at < bytes.length; at++) {
      const tail = bytes.subarray(at)
      if (all.some(secret => secret.length > tail.length && secret.subarray(0, tail.length).equals(tail))) return at
    }
    return bytes.length
  }
  return {
    whole,
    piece(bytes) {
      if (longest === 0) return bytes
      const joined = held.length > 0 ? Buffer.concat([held, bytes]) : bytes
      const masked = whole(joined)
      const cut = beginOfSecret(masked)
      held = masked.subarray(cut)
      return masked.subarray(0, cut)
    },
    rest() {
      const left = held
      held = nothing
      return left
    },
  }
}
