/** The first start: one account, its workspace `default`, and an API key that may do everything. */
import { join } from 'node:path'
import { isError } from '../../../shared/errors.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Ids } from '../../../shared/ids.ts'
import { hashKey, newKey } from './keys.ts'
import { firstKeyId } from './personal-keys.ts'
import { readOrCreate } from '../../base/durable.ts'
import type { ApiKey, Store } from '../store/store.ts'

export interface Bootstrap {
  /** The admin key itself, as in `{dataDir}/admin-key`. */
  readonly adminKey: string
  readonly account: string
  readonly workspace: string
}

const account = 'default'
const workspace = 'default'

/** Who has the data directory may do everything: the first key, but for its hash and the time it was made. */
export const operator: Omit<ApiKey, 'hash' | 'createdAt'> = {
  id: firstKeyId,
  name: 'admin',
  account,
  workspace: null,
  role: 'admin',
  accountAdmin: true,
  expiresAt: null,
  scopes: null,
  owner: null,
  person: { sub: 'admin', label: 'admin', expiresIn: '' },
  defaultWorkspace: workspace,
}

/** What is asked, or `instead` where its row cannot be read: that keeps nobody else from being served. */
const orElse = async <T>(asked: Promise<T>, instead: T): Promise<T> => {
  try {
    return await asked
  } catch (error) {
    if (!isError(error, 'unavailable')) throw error
    return instead
  }
}

const hasWorkspace = async (tenants: Pick<Store['tenants'], 'workspaces'>): Promise<boolean> =>
  (await tenants.workspaces(account)).length > 0

/**
 * Makes what is missing; every step may be repeated, so a start that died anywhere is finished by the next one.
 * The key is on disk (0600, durable) before the store knows its hash: a key that works can always be read.
 * Removing the file and starting again gives a new key and revokes the old one.
 */
export const bootstrap = async (
  config: { dataDir: string },
  deps: { store: Pick<Store, 'tenants'>; clock: Clock; ids: Ids },
): Promise<Bootstrap> => {
  const { store, clock, ids } = deps
  const { tenants } = store
  const adminKey = (await readOrCreate(join(config.dataDir, 'admin-key'), () => `${newKey(ids)}\n`, ids)).trim()
  const createdAt = clock.now()
  if (!(await tenants.account(account))) await tenants.addAccount({ id: account, displayName: 'Default', createdAt })
  // One that was deleted stays so: there are others then.
  if (!(await orElse(hasWorkspace(tenants), true)))
    await tenants.addWorkspace({ id: ids.uuid(), name: workspace, account, displayName: 'Default', createdAt })
  const hash = hashKey(adminKey)
  // One whose row cannot be read is made anew.
  if (!(await orElse(tenants.apiKeyByHash(hash), undefined))) {
    await tenants.removeApiKey(operator.id)
    await tenants.addApiKey({ ...operator, hash, createdAt })
  }
  return { adminKey, account, workspace }
}
