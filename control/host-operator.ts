/** What this host does for whoever has its data directory. */
import { isAbsolute } from 'node:path'
import { fail } from '../shared/errors.ts'
import { backUp } from './backup/backup.ts'
import type { Config } from './config.ts'
import type { Runner } from './instances/runner.ts'
import { answerOperators, type OperatorVerb } from './operator/answer.ts'
import type { Parts } from './parts.ts'

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

/** From now on, until the data directory is given back. */
export const answerTheOperator = (config: Config, parts: Parts, runner: Pick<Runner, 'still'>): void => {
  const { claim, first, log } = parts
  const verbs = { backup: backupVerb(config, parts, runner) }
  claim.answer(answerOperators({ adminKey: first.adminKey, verbs, log }))
}
