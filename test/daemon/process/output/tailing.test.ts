import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openCapture } from '../../../../daemon/process/output/capture.ts'
import { outputPaths } from '../../../../daemon/process/output/names.ts'
import { createScratch } from '../../../../daemon/process/output/render.ts'
import { createTailing } from '../../../../daemon/process/output/tailing.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { silentLog } from '../../../../shared/log.ts'
import { until } from '../../../support/processes.ts'

t.test('a capture that went quiet is woken by its file, not by the clock', async t => {
  const dir = t.testdir({ positions: {} })
  const paths = outputPaths({ logDir: dir, positionsDir: join(dir, 'positions') }, 'x')
  const capture = openCapture({ paths, fresh: true, ended: false, scratch: createScratch() })
  t.teardown(() => capture.close())
  // Without the sweep, and with the number of timers that wait counted.
  let waiting = 0
  const clock = systemClock()
  const quiet = {
    ...clock,
    every: () => () => {},
    after(ms: number, run: () => void) {
      waiting++
      return clock.after(ms, () => {
        waiting--
        run()
      })
    },
  }
  let grown = 0
  const tailing = createTailing({ clock: quiet, log: silentLog, grew: () => grown++ })
  t.teardown(() => tailing.close())
  tailing.add(capture, paths.streams)
  for (const [index, path] of [...paths.streams, ...paths.streams].entries()) {
    await until('silence', () => waiting === 0)
    appendFileSync(path, `line ${index}\n`)
    await until('the growth', () => grown === index + 1)
  }
  t.equal(capture.positions.seen[0] + capture.positions.seen[1], 28)
  tailing.remove(capture)
  await until('silence', () => waiting === 0)
  appendFileSync(paths.streams[0], 'nobody looks\n')
  t.equal(grown, 4)
})
