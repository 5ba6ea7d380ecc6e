/** A test file that this machine cannot run. */
import t from 'tap'

/** Where there is a reason, the file ends here: counted and named as skipped (`test/run.ts`). */
export const skipFile = (why: string | false | undefined): void => {
  if (!why) return
  t.pass(`skipped: ${why}`, { skip: why })
  process.exit(0)
}
