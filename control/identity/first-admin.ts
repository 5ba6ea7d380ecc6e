/** The first person: made with a link that is printed where the server starts, good once and for a day. */
import type { Clock } from '../../shared/clock.ts'
import type { Ids } from '../../shared/ids.ts'
import { hashKey } from '../auth/keys.ts'
import type { Store } from '../store/store.ts'

const firstAdminPath = '/v0/oauth/first-admin'

const purpose = 'admin'
const validMs = 86_400_000

/** A new address, in the place of the one before. It makes an admin of the account of who opens it. */
export const adminLink = async (
  { store, clock, ids }: { store: Pick<Store, 'identity'>; clock: Clock; ids: Ids },
  publicUrl: string,
): Promise<string> => {
  const token = ids.secret(32)
  await store.identity.putLink({ hash: hashKey(token), purpose, subject: '', expiresAt: clock.now() + validMs })
  return `${publicUrl}${firstAdminPath}?token=${token}`
}
