/** What this host does for whoever has its data directory. */
import { isAbsolute } from 'node:path'
import { fail } from '../shared/errors.ts'
import { backUp } from './backup/backup.ts'
import type { Config } from './config.ts'
import type { Runner } from './instances/runner.ts'
import { answerOperators, type OperatorVerb } from './operator/answer.ts'
import { changed, changeKey } from './keyring.ts'
import type { Parts } from './parts.ts'
import { renewStored } from './renew.ts'

const backupVerb = (config: Config, parts: Parts, { still }: Pick<Runner, 'still'>): OperatorVerb => {
  const { realDataDir: dataDir, log } = parts
  let under = false
  return async ({ to }, { say, signal }) => {
    if (typeof to !== 'string' || !isAbsolute(to))
      throw fail('invalid_argument', { field: 'to', reason: 'must be an absolute path' })
    if (under) throw fail('busy', { what: 'a backup is being made', next: 'wait for it' })
    under = true
    try {
      const { machines, bytes, stillMs } = await backUp(
        { ...parts, dataDir, imagesDir: config.imagesDir, still },
        { to, say, signal },
      )
      log.info('backup.made', { to, machines, bytes, stillMs })
      const size = `${(bytes / 1e6).toFixed(1)} MB`
      say(`${to}: ${machines} sandboxes, ${size}; the longest stood still for ${stillMs} ms`)
    } finally {
      under = false
    }
  }
}

/** Seals everything anew under a new key. */
const rotateVerb = ({ dataDir, ids, sealer, store: { upkeep }, log }: Parts & { dataDir: string }): OperatorVerb => {
  let under: Promise<number> | undefined
  return async (_input, { say }) => {
    under ??= changeKey({
      dataDir,
      ids,
      keyring: sealer,
      renewAll: renew => renewStored({ dataDir, ids, upkeep }, renew),
    })
    const renewed = await under.finally(() => {
      under = undefined
    })
    log.info('keys.changed', { renewed })
    say(changed(renewed))
  }
}

/** From now on, until the data directory is given back. */
export const answerTheOperator = (config: Config, parts: Parts, runner: Pick<Runner, 'still'>): void => {
  const { claim, first, log } = parts
  const { realDataDir: dataDir } = parts
  const verbs = { backup: backupVerb(config, parts, runner), rotate: rotateVerb({ ...parts, dataDir }) }
  claim.answer(answerOperators({ adminKey: first.adminKey, verbs, log }))
}
