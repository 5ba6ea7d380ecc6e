/** `hutch admin link`: another address that makes an admin. */
import { systemClock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import { randomIds } from '../../shared/ids.ts'
import { operator } from '../core/access/bootstrap.ts'
import { loadConfig } from '../base/config.ts'
import { adminLink } from '../server/access/identity/admin-link.ts'
import { publicUrlOf } from '../base/listening.ts'
import { misuse, type Invocation } from './command.ts'
import { withExistingStore } from './existing-store.ts'

export const run = async ({ env, cwd, words, options, say }: Invocation): Promise<number> => {
  if (words.length !== 1 || words[0] !== 'link') throw misuse('admin takes one word, link; see hutch admin --help')
  const config = loadConfig(env, cwd)
  const account = String(options['account'] ?? operator.account)
  await withExistingStore(config.dataDir, async store => {
    if (!(await store.tenants.account(account))) throw fail('not_found', { kind: 'account', name: account })
    say(await adminLink({ store, clock: systemClock(), ids: randomIds() }, publicUrlOf(config, config.port), account))
  })
  return 0
}
