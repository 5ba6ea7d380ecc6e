import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createKeepAwake } from '../../../daemon/process/keep-awake.ts'
import { silentLog } from '../../../shared/log.ts'

t.test('exactly one minus for each plus', t => {
  const path = join(t.testdir({}), 'counter')
  const keepAwake = createKeepAwake({ path, enabled: true, log: silentLog })
  const [first, second] = [keepAwake.hold(), keepAwake.hold()]
  t.equal(keepAwake.held, 2)
  first()
  first()
  second()
  t.equal(keepAwake.held, 0)
  t.equal(readFileSync(path, 'utf8'), '=0++--')
  t.end()
})

t.test('without the platform, or switched off, nothing is written', t => {
  const dir = t.testdir({})
  createKeepAwake({ path: join(dir, 'no/counter'), enabled: true, log: silentLog }).hold()()
  createKeepAwake({ path: join(dir, 'counter'), enabled: false, log: silentLog }).hold()()
  t.throws(() => readFileSync(join(dir, 'counter')), { code: 'ENOENT' })
  t.end()
})
