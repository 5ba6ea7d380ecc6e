/** A test file that this machine cannot run. */
import { basename } from 'node:path'
import t from 'tap'

/** Where there is a reason, the file ends here: counted as skipped, by its name (`test/run.ts`). */
export const skipFile = (why: string | false | undefined): void => {
  if (!why) return
  t.pass(basename(process.argv[1] ?? ''), { skip: why })
  process.exit(0)
}
