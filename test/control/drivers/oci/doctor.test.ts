/** What the doctor finds of that which a server goes on without, saying so in its log alone. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { carryOut, withScratch, type Check } from '../../../../control/drivers/oci/probe/check.ts'
import { quickMoves } from '../../../../control/drivers/oci/probe/moves.ts'
import { ownView } from '../../../../control/drivers/oci/probe/view.ts'
import { presentRuntimes } from '../../../../control/drivers/oci/runtime.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { cgroupMounts } from '../../../support/oci.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines('runc'))

const found = (check: Check) =>
  withScratch(t.testdirName, systemClock(), undefined, async context => {
    const { ok, what, next } = await carryOut(check, context)
    const groups = cgroupMounts().flatMap(mount => readdirSync(mount))
    return { ok, what, next, left: groups.filter(name => name.includes(context.word)) }
  })

t.test('what a sandbox sees of itself', async t => {
  for (const runtime of presentRuntimes().filter(name => name !== 'runsc')) {
    const own = await found(ownView(runtime))
    t.match(own, { ok: true, left: [] }, own.what)
  }
  const blind = await found(ownView('runc', async () => {}, 2))
  t.match(blind, { ok: false, what: /it sees \d+ kB of memory, and has 262144$/, next: /setup.*Linux 5\.2/, left: [] })
  const failing = await found(ownView('runc', () => Promise.reject(new Error('tmpfs: no such device'))))
  t.match(failing, { ok: false, what: /: tmpfs: no such device$/, left: [] })
})

t.test('moves between control groups', async t => {
  t.match(await found(quickMoves()), { ok: true })
  const list = join(t.testdir(), 'not', 'there')
  t.match(await found(quickMoves(async () => list)), { ok: false, what: /ENOENT/, next: /favordynmods/ })
  t.match(await found(quickMoves(async () => undefined)), { ok: false, what: /in no group/ })
})
