/**
 * Addresses of uploads. One is signed by this host and says which record it is for, which of its uploads, and until when: whoever has
 * it needs no credential, and nothing has to be looked up to refuse a forged one.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { fail } from '../../../../shared/errors.ts'
import { parse, s, type Out } from '../../../../shared/schema.ts'
import type { Key } from '../../store/store.ts'
import type { Slot } from '../../transitions/slot.ts'

const shape = s.object({
  kind: s.string(),
  workspace: s.string(),
  parent: s.string(),
  name: s.string(),
  id: s.string(),
  expiresAt: s.int(),
})
export type UploadTarget = Out<typeof shape>

export interface UploadAddresses {
  /** The token of an address, for a record and one of its slots. */
  token(key: Key, slot: Slot): string
  /** What a token is for. Throws `forbidden` for one that this host has not made, `expired` when its time is over. */
  read(token: string, now: number): UploadTarget
}

const refuse = () => fail('forbidden', { reason: 'this upload address is not one that this host has given out' })

/** `secret`: text that only this host knows. */
export const uploadAddresses = (secret: string): UploadAddresses => {
  const sign = (payload: string): Buffer => createHmac('sha256', secret).update(`upload\0${payload}`).digest()
  return {
    token({ kind, workspace, parent, name }, { id, expiresAt }) {
      const target = { kind, workspace, parent, name, id, expiresAt } satisfies UploadTarget
      const payload = Buffer.from(JSON.stringify(target)).toString('base64url')
      return `${payload}.${sign(payload).toString('base64url')}`
    },
    read(token, now) {
      const [payload = '', given = '', ...more] = token.split('.')
      const signature = Buffer.from(given, 'base64url')
      const own = sign(payload)
      if (more.length > 0 || signature.length !== own.length || !timingSafeEqual(signature, own)) throw refuse()
      const target = parse(shape, JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')), 'config')
      if (target.expiresAt <= now) throw fail('expired', { kind: 'upload address of', name: target.name })
      return target
    },
  }
}
