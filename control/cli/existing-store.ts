import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../../shared/errors.ts'
import { command } from '../../shared/installation.ts'
import { silentLog } from '../../shared/log.ts'
import { openStore } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'

/**
 * Runs `use` on the database of the data directory, whether or not a server runs on it. Throws `unavailable` where no server of this
 * build has been.
 */
export const withExistingStore = async (dataDir: string, use: (store: Store) => Promise<void>): Promise<void> => {
  const path = join(dataDir, 'hutch.db')
  if (!existsSync(path))
    throw fail('unavailable', {
      what: `${dataDir} has no database`,
      next: `start ${command('run')} once, or set HUTCH_DATA_DIR`,
    })
  const store = await openStore({ path, asItIs: true }, { log: silentLog })
  try {
    await use(store)
  } finally {
    await store.close()
  }
}
