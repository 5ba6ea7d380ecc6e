import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createScale } from '../../../daemon/process/keep-awake.ts'
import { silentLog } from '../../../shared/log.ts'

t.test('exactly one minus for each plus', t => {
  const path = join(t.testdir({}), 'counter')
  const scale = createScale({ path, enabled: true, log: silentLog })
  const [first, second] = [scale.hold(), scale.hold()]
  t.equal(scale.held, 2)
  first()
  first()
  second()
  t.equal(scale.held, 0)
  t.equal(readFileSync(path, 'utf8'), '=0++--')
  t.end()
})

t.test('without the platform, or switched off, nothing is written', t => {
  const dir = t.testdir({})
  createScale({ path: join(dir, 'no/counter'), enabled: true, log: silentLog }).hold()()
  createScale({ path: join(dir, 'counter'), enabled: false, log: silentLog }).hold()()
  t.throws(() => readFileSync(join(dir, 'counter')), { code: 'ENOENT' })
  t.end()
})
