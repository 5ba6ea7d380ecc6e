import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../../shared/errors.ts'
import { command } from '../../shared/installation.ts'
import { silentLog } from '../../shared/log.ts'
import { openStore } from '../core/store/sqlite/open.ts'
import type { Store, WritableStore } from '../core/store/store.ts'

/** The file of the database. Throws `unavailable` where no server has been: a command that only looks makes none. */
export const existingDatabase = (dataDir: string): string => {
  const path = join(dataDir, 'hutch.db')
  if (!existsSync(path))
    throw fail('unavailable', {
      what: `${dataDir} has no database`,
      next: `start ${command('run')} once, or set HUTCH_DATA_DIR`,
    })
  return path
}

const opened = (dataDir: string): Promise<WritableStore> =>
  openStore({ path: existingDatabase(dataDir), asItIs: true }, { log: silentLog })

/** The same for a command that writes records: with a transition of its own, as a server does. */
export const withWritableStore = async (
  dataDir: string,
  use: (store: WritableStore) => Promise<void>,
): Promise<void> => {
  const store = await opened(dataDir)
  try {
    await use(store)
  } finally {
    await store.close()
  }
}

/**
 * Runs `use` on the database of the data directory, whether or not a server runs on it. Throws `unavailable` where no server of this
 * build has been.
 */
export const withExistingStore = (dataDir: string, use: (store: Store) => Promise<void>): Promise<void> =>
  withWritableStore(dataDir, use)
