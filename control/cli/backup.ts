/** `hutch backup`: asks the server that runs on the data directory for a copy of everything. */
import { realpath } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fail } from '../../shared/errors.ts'
import { command } from '../../shared/installation.ts'
import { loadConfig } from '../base/config.ts'
import { askServer } from '../ops/operator/ask.ts'
import { misuse, type Invocation } from './command.ts'
import { existingDatabase } from './existing-store.ts'

export const run = async ({ env, cwd, words, say }: Invocation): Promise<number> => {
  const [to, ...more] = words
  if (!to || more.length > 0) throw misuse('backup takes the file to be made; see hutch backup --help')
  const dataDir = await realpath(dirname(existingDatabase(loadConfig(env, cwd).dataDir)))
  if (await askServer({ dataDir, verb: 'backup', input: { to: resolve(cwd, to) }, say })) return 0
  throw fail('unavailable', {
    what: `no server runs on ${dataDir}, and without one nobody holds its sandboxes still`,
    next: `start it with ${command('run')}, or copy the directory once nothing of it runs`,
  })
}
