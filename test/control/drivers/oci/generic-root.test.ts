import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openGenericRoot } from '../../../../control/drivers/oci/claim/generic.ts'

t.test(
  'the root of generic machines is for nobody else of the box, also where a version before has made it',
  async t => {
    for (const before of [undefined, 0o755]) {
      const dir = t.testdir({})
      if (before !== undefined) mkdirSync(join(dir, 'generic'), { mode: before })
      const root = openGenericRoot(dir)
      t.equal(statSync(join(dir, 'generic')).mode & 0o777, 0o700)
      t.equal(statSync(root).mode & 0o777, 0o755, 'what a machine sees as its root')
    }
  },
)
