/** Volumes through the real server, on each runtime. */
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { volumesSuite } from '../support/volumes-suite.ts'

for (const runtime of ['crun', 'runc', 'runsc'] as const) {
  const skip = whyNoMachines(runtime)
  t.test(`volumes on ${runtime}`, { ...(skip ? { skip } : {}), timeout: 600_000 }, t => volumesSuite(t, runtime))
}
