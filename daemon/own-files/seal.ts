/**
 * Says of each line that the daemon writes that it wrote it, where root of the sandbox can write to its files: on gVisor. The key is the
 * machine's, comes from the host at each start, and is in no file. A line that is taken out, or put back as it once was, is not noticed.
 */
import { equalProofs } from '../../shared/channel.ts'
import { hmacSha256 } from '../native/hmac/hmac.ts'

/** What the host has told of it. */
export interface SealTerms {
  /** 32 bytes in base64url. */
  readonly key: string
  /** What is there without a seal counts. */
  readonly legacy: boolean
}

export interface Seal {
  /** `text`, which is a JSON object with a member at least, with one more, that proves whose it is. */
  close(text: string): string
  /** Whether `close` has made it, or one without a seal counts. */
  holds(text: string): boolean
}

/** For files that nobody else can write to. */
export const noSeal: Seal = { close: text => text, holds: () => true }

const member = /,"seal":"([\w-]{43})"}$/

/** `label` says what for, so that a line of one file is none of another. */
export const createSeal = (given: SealTerms | undefined, label: string): Seal => {
  if (!given) return noSeal
  const key = Buffer.from(given.key, 'base64url')
  const proofOf = (text: string): Buffer => hmacSha256(key, Buffer.from(`${label}\0${text}`))
  return {
    close: text => `${text.slice(0, -1)},"seal":"${proofOf(text).toString('base64url')}"}`,
    holds(text) {
      const [sealed, proof] = member.exec(text) ?? []
      if (sealed === undefined || proof === undefined) return given.legacy
      return equalProofs(proofOf(`${text.slice(0, -sealed.length)}}`), Buffer.from(proof, 'base64url'))
    },
  }
}
