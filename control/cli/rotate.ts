/** `hutch rotate`: a new key for stored secrets. */
import { realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { randomIds } from '../../shared/ids.ts'
import { loadConfig } from '../base/config.ts'
import { changed, changeKey, openKeys } from '../core/secrets/keyring.ts'
import { claimDataDir } from '../base/one-host.ts'
import { askServer } from '../ops/operator/ask.ts'
import { renewStored } from '../core/secrets/renew.ts'
import { misuse, type Invocation } from './command.ts'
import { existingDatabase, withExistingStore } from './existing-store.ts'

export const run = async ({ env, cwd, words, say }: Invocation): Promise<number> => {
  if (words.length > 0) throw misuse('rotate takes no words; see hutch rotate --help')
  const dataDir = await realpath(dirname(existingDatabase(loadConfig(env, cwd).dataDir)))
  if (await askServer({ dataDir, verb: 'rotate', input: {}, say })) return 0
  // Nobody else begins meanwhile.
  const claim = await claimDataDir(dataDir)
  try {
    await withExistingStore(dataDir, async ({ upkeep }) => {
      const ids = randomIds()
      const { keyring } = await openKeys(dataDir, ids)
      const renewAll = (renew: typeof keyring.renew) => renewStored({ dataDir, ids, upkeep }, renew)
      say(changed(await changeKey({ dataDir, ids, keyring, renewAll })))
    })
  } finally {
    await claim.release()
  }
  return 0
}
