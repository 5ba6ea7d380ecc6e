/** What the provider remembers, in the host's store: identifiers as hashes, for many of them are secrets, and the rest sealed. */
import { createHash } from 'node:crypto'
import { hashKey } from '../../../../core/access/keys.ts'
import type { Adapter, AdapterConstructor, AdapterPayload } from 'oidc-provider'
import type { Clock } from '../../../../../shared/clock.ts'
import type { Sealer } from '../../../../core/secrets/secrets.ts'
import type { People } from '../people.ts'
import type { OAuthRecord, Store } from '../../../../core/store/store.ts'

export interface AdapterDeps {
  readonly store: Pick<Store, 'identity'>
  readonly sealer: Sealer
  readonly clock: Clock
  /** Clients that are no records of the provider; undefined for one that is none of them either. */
  readonly knownClient: (id: string) => Promise<AdapterPayload | undefined>
  /** Whether what a person allowed still holds. */
  readonly people: Pick<People, 'isAllowed'>
}

const hashed = (id: string): string => createHash('sha256').update(id).digest('base64url')

/** Of a client that registered itself only the hash of the secret is kept. */
const stored = (model: string, payload: AdapterPayload): AdapterPayload =>
  model === 'Client' && typeof payload['client_secret'] === 'string'
    ? { ...payload, client_secret: hashKey(payload['client_secret']) }
    : payload

export const adapterOf = ({
  store: { identity },
  sealer,
  clock,
  knownClient,
  people,
}: AdapterDeps): AdapterConstructor => {
  const opened = (record: OAuthRecord | undefined): AdapterPayload | undefined => {
    if (!record || (record.expiresAt !== null && record.expiresAt <= clock.now())) return undefined
    const payload = JSON.parse(sealer.open(record.payload)) as AdapterPayload
    return record.consumedAt === null ? payload : { ...payload, consumed: Math.floor(record.consumedAt / 1000) }
  }
  return class implements Adapter {
    readonly model: string
    constructor(model: string) {
      this.model = model
    }
    async find(id: string) {
      const { model } = this
      // What was taken back gives nothing any more: no code, no token and no word about who somebody is.
      if (model === 'Grant' && !(await people.isAllowed(id))) return undefined
      return (
        opened(await identity.oauthRecord(model, 'id', hashed(id))) ??
        (model === 'Client' ? knownClient(id) : undefined)
      )
    }
    async findByUid(uid: string) {
      return opened(await identity.oauthRecord(this.model, 'uid', uid))
    }
    async findByUserCode(userCode: string) {
      return opened(await identity.oauthRecord(this.model, 'userCode', hashed(userCode)))
    }
    async upsert(id: string, payload: AdapterPayload, expiresIn: number) {
      const { model } = this
      await identity.putOAuthRecord({
        type: model,
        id: hashed(id),
        payload: sealer.seal(JSON.stringify(stored(model, payload))),
        grantId: payload.grantId ?? null,
        uid: payload.uid ?? null,
        userCode: payload.userCode ? hashed(payload.userCode) : null,
        consumedAt: payload.consumed ? Number(payload.consumed) * 1000 : null,
        expiresAt: expiresIn ? clock.now() + expiresIn * 1000 : null,
      })
    }
    consume(id: string) {
      return identity.consumeOAuthRecord(this.model, hashed(id), clock.now())
    }
    destroy(id: string) {
      return identity.removeOAuthRecord(this.model, hashed(id))
    }
    revokeByGrantId(grantId: string) {
      return identity.removeOAuthGrant(grantId)
    }
  }
}
