/** The first admin of an account: made with a link that is printed where the server starts, or by a command. */
import type { Clock } from '../../../../shared/clock.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Store } from '../../../core/store/store.ts'
import { accountEntry } from './by-operator.ts'
import { newLink } from '../../../core/access/links.ts'

/** A new address, in the place of the one before. It makes an admin of the account of who opens it. */
export const adminLink = async (
  { store, clock, ids }: { store: Pick<Store, 'identity'>; clock: Clock; ids: Ids },
  publicUrl: string,
  account: string,
): Promise<string> => {
  const { address, change } = newLink(ids, 'admin', account, clock.now())
  await store.identity.change([change], [accountEntry('admin link', account)], clock.now())
  return `${publicUrl}${address}`
}
