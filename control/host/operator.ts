/** What this host does for whoever has its data directory. */
import { isAbsolute } from 'node:path'
import { fail } from '../../shared/errors.ts'
import { backUp } from '../ops/backup/backup.ts'
import type { Config } from '../base/config.ts'
import type { Runner } from '../core/machines/runner.ts'
import { answerOperators, type OperatorVerb } from '../ops/operator/answer.ts'
import { changed, changeKey, type ChangeDeps } from '../core/secrets/keyring.ts'
import type { Parts } from './parts.ts'
import { renewStored } from '../core/secrets/renew.ts'

const backupVerb = (config: Config, parts: Parts, { still }: Pick<Runner, 'still'>): OperatorVerb => {
  const { realDataDir: dataDir, log } = parts
  return async ({ to }, { say, signal }) => {
    if (typeof to !== 'string' || !isAbsolute(to))
      throw fail('invalid_argument', { field: 'to', reason: 'must be an absolute path' })
    const { machines, bytes, stillMs, unreadable } = await backUp(
      { ...parts, dataDir, imagesDir: config.imagesDir, still },
      { to, say, signal },
    )
    log.info('backup.made', { to, machines, bytes, stillMs, unreadable })
    const size = `${(bytes / 1e6).toFixed(1)} MB`
    say(`${to}: ${machines} sandboxes, ${size}; the longest stood still for ${stillMs} ms`)
    for (const id of unreadable) say(`without the files of ${id}: its row cannot be read (hutch doctor says which)`)
  }
}

/** Seals everything anew under a new key. */
const rotateVerb = ({ dataDir, ids, sealer, store: { upkeep }, log }: Parts & { dataDir: string }): OperatorVerb => {
  return async (_input, { say }) => {
    const renewAll: ChangeDeps['renewAll'] = renew => renewStored({ dataDir, ids, upkeep }, renew)
    const renewed = await changeKey({ dataDir, ids, keyring: sealer, renewAll })
    log.info('keys.changed', { renewed })
    say(changed(renewed))
  }
}

/** A backup with the keys of one moment and the database of another could not be opened. */
const oneAtATime = () => {
  let isBusy = false
  return (verb: OperatorVerb): OperatorVerb =>
    async (input, on) => {
      if (isBusy) throw fail('busy', { what: 'a backup or a change of keys is under way', next: 'wait for it' })
      isBusy = true
      try {
        await verb(input, on)
      } finally {
        isBusy = false
      }
    }
}

/** From now on, until the data directory is given back. */
export const answerTheOperator = (config: Config, parts: Parts, runner: Pick<Runner, 'still'>): void => {
  const { claim, first, log } = parts
  const { realDataDir: dataDir } = parts
  const alone = oneAtATime()
  const verbs = {
    backup: alone(backupVerb(config, parts, runner)),
    rotate: alone(rotateVerb({ ...parts, dataDir })),
  }
  claim.answer(answerOperators({ adminKey: first.adminKey, verbs, log }))
}
