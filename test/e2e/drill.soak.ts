/** What an operator rehearses: a full disk, one that fails, a restart of the box and the others. Nothing is lost, left over or billed twice. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

t.test('every disaster of the drill', async t => {
  const program = new URL('../drill/main.ts', import.meta.url).pathname
  const { status, stdout } = spawnSync(process.execPath, [program], { encoding: 'utf8' })
  t.comment(stdout)
  t.equal(status, 0, stdout)
  t.ok(stdout.split('\n').length >= 9, 'all of them')
})
