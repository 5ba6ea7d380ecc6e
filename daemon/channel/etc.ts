/** Files of /etc that the host gives. */
import { join } from 'node:path'
import { fail, messageOf } from '../../shared/errors.ts'
import { replaceFile } from '../own-files/own-files.ts'

/** By their names. Throws `operation_failed` for one that cannot be written; some of the others are then. */
export const writeEtc = (files: Readonly<Record<string, string>>): void => {
  for (const [name, content] of Object.entries(files)) {
    try {
      replaceFile(join('/etc', name), content, 0o644)
    } catch (error) {
      throw fail('operation_failed', { reason: `etc.${name} cannot be written: ${messageOf(error)}` }, error)
    }
  }
}
