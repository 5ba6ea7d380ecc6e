/** `hutch restore`: a data directory from a backup. */
import { resolve } from 'node:path'
import { command } from '../../shared/installation.ts'
import { restore } from '../ops/backup/restore.ts'
import { loadConfig } from '../base/config.ts'
import { adaptCopy } from '../core/store/sqlite/adapt.ts'
import { misuse, type Invocation } from './command.ts'
import { needRoot } from './root.ts'

export const run = async ({ env, cwd, words, say }: Invocation): Promise<number> => {
  const [from, ...more] = words
  if (!from || more.length > 0) throw misuse('restore takes the backup; see hutch restore --help')
  needRoot('files get their owners back', command('restore FILE'))
  const { dataDir, imagesDir } = loadConfig(env, cwd)
  const { machines, takenAt, leftOut } = await restore(
    { adapt: adaptCopy },
    { from: resolve(cwd, from), dataDir, imagesDir },
  )
  say(
    `${dataDir} is as it was at ${takenAt}, with the files of ${machines.length} sandboxes; ${command('run')} starts it`,
  )
  if (leftOut.count > 0)
    say(`left out, because their names are too long: ${leftOut.count} files; the first: ${leftOut.first}`)
  return 0
}
