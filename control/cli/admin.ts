/** `hutch admin link`: another address that makes an admin. */
import { join } from 'node:path'
import { systemClock } from '../../shared/clock.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog } from '../../shared/log.ts'
import { loadConfig } from '../config.ts'
import { adminLink } from '../identity/first-admin.ts'
import { publicUrlOf } from '../listening.ts'
import { openStore } from '../store/sqlite/open.ts'
import { misuse, type Invocation } from './command.ts'

export const run = async ({ env, cwd, words, say }: Invocation): Promise<number> => {
  if (words.length !== 1 || words[0] !== 'link') throw misuse('admin takes one word, link; see hutch admin --help')
  const config = loadConfig(env, cwd)
  const store = await openStore({ path: join(config.dataDir, 'hutch.db'), asItIs: true }, { log: silentLog })
  try {
    say(await adminLink({ store, clock: systemClock(), ids: randomIds() }, publicUrlOf(config, config.port)))
  } finally {
    await store.close()
  }
  return 0
}
