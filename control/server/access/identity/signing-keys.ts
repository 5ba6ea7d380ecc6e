/**
 * The keys that tokens are signed with: the newest signs, the others are known for as long as what they signed may live. Made when the
 * first token is asked for, and anew when the newest is old or an operator says so, here or in another process.
 */
import { createPublicKey, generateKeyPair, type JsonWebKey, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { Clock } from '../../../../shared/clock.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Sealer } from '../../../core/secrets/secrets.ts'
import type { SigningKey, Store } from '../../../core/store/store.ts'

const newAfterMs = 30 * 86_400_000

/** Longer than any token that was signed with a key before another took its place. */
const keptMs = 86_400_000

export const signingAlgorithm = 'RS256'

export interface SigningKeys {
  /** Private JWKs, the one to sign with first. Makes the first one. */
  privateKeys(): Promise<JsonWebKey[]>
  /** The public key of that name; undefined when there is none any more. */
  publicKey(kid: string): Promise<KeyObject | undefined>
  /** From now on another key signs. */
  rotate(): Promise<string>
}

const makeKey = promisify(generateKeyPair)

export const createSigningKeys = (deps: {
  store: Pick<Store, 'identity'>
  sealer: Sealer
  clock: Clock
  ids: Ids
}): SigningKeys => {
  const { sealer, clock, ids } = deps
  const { identity } = deps.store
  const known = new Map<string, KeyObject>()
  const rotate = async (): Promise<string> => {
    const { privateKey } = await makeKey('rsa', { modulusLength: 2048 })
    const kid = ids.short(16)
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid, alg: signingAlgorithm, use: 'sig' }
    const now = clock.now()
    await identity.addSigningKey({ kid, sealed: sealer.seal(JSON.stringify(jwk)), createdAt: now })
    return kid
  }
  const opened = ({ sealed }: SigningKey): JsonWebKey => JSON.parse(sealer.open(sealed)) as JsonWebKey
  let making: Promise<string> | undefined
  return {
    rotate,
    async privateKeys() {
      const now = clock.now()
      const [newest] = await identity.signingKeys()
      if (!newest || newest.createdAt < now - newAfterMs) {
        making ??= rotate().finally(() => (making = undefined))
        await making
      }
      // What the one before the newest signed is over this long after the newest was made.
      const [current] = await identity.signingKeys()
      if (current && current.createdAt < now - keptMs) await identity.removeSigningKeys(current.createdAt)
      return (await identity.signingKeys()).map(opened)
    },
    async publicKey(kid) {
      const found = (await identity.signingKeys()).find(one => one.kid === kid)
      if (!found) return void known.delete(kid)
      const key = known.get(kid) ?? createPublicKey({ key: opened(found), format: 'jwk' })
      known.set(kid, key)
      return key
    },
  }
}
