import t from 'tap'
import { createCollector } from '../../../../control/base/memory/collector.ts'
import { tidyMemory } from '../../../../control/base/memory/tidy.ts'
import { silentLog } from '../../../../shared/log.ts'
import { fakeClock } from '../../../support/clock.ts'

const mb = 1024 * 1024

t.test('what a burst has left is collected when the server is idle, once, and never while it works', async t => {
  const clock = fakeClock()
  let [held, cpuMs, collected] = [100 * mb, 0, 0]
  const collect = async () => {
    collected++
    held = 40 * mb
  }
  const stop = tidyMemory({ heldBytes: () => held, cpuMs: () => cpuMs, collect }, { clock, log: silentLog })
  cpuMs += 2_000
  await clock.tick(5_000)
  t.equal(collected, 0, 'it works')
  await clock.tick(5_000)
  t.equal(collected, 1)
  held += 15 * mb
  await clock.tick(50_000)
  t.equal(collected, 1, 'not for so little')
  held += 2 * mb
  await clock.tick(5_000)
  t.equal(collected, 2)
  stop()
  held += 100 * mb
  await clock.tick(50_000)
  t.equal(collected, 2)
})

t.test('the real one gives memory back', async t => {
  const collector = createCollector()
  const burst = () => Array.from({ length: 400_000 }, (_, at) => ({ at, text: `${at}` })).length
  t.equal(burst(), 400_000)
  const before = collector.heldBytes()
  await collector.collect()
  const after = collector.heldBytes()
  t.ok(before - after > 20 * mb, `${before} bytes before, ${after} after`)
  t.ok(collector.cpuMs() > 0)
})
