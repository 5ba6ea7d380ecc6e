/** A new file for a process's output: named from the pool, against made the ordinary way on the same disk. */
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { createFilePool } from '../../daemon/process/output/file-pool.ts'
import { makeUnnamed } from '../../daemon/native/unnamed-files/unnamed-files.ts'
import { systemClock } from '../../shared/clock.ts'
import type { MeasuredDaemon } from './daemon.ts'
import { inTurns, timeOf, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_RDWR } = constants
const mode = 0o644
const rounds = 500
/** As a build or an installation in the sandbox would: a disk without a journal is slower for minutes after it. */
const deletedBefore = 10_000

export const outputFiles = async (bench: Bench, daemon: MeasuredDaemon): Promise<Row[]> => {
  const dir = join(daemon.dir, 'output-files')
  mkdirSync(dir)
  const possible = await makeUnnamed(dir, O_RDWR, mode, 1).then(
    fds => fds.map(fd => closeSync(fd)).length > 0,
    () => false,
  )
  if (!possible) {
    bench.skip('process.output-file', 'needs a file system with files without a name')
    return []
  }
  const make = (name: string): number => openSync(join(dir, name), O_RDWR | O_APPEND | O_CREAT | O_EXCL, mode)
  const { after } = systemClock()
  let ms = 0
  // By this clock making a file is always slow: whether it is here is what is measured.
  const clock = { after, elapsed: () => ms++ }
  const pool = createFilePool({ dir, flags: O_RDWR | O_APPEND, mode, max: 16, clock })
  const take = (name: string): number => pool.take(join(dir, name), () => make(name))
  bench.later('pool', () => pool.close())
  for (let index = 0; index < deletedBefore; index++) closeSync(make(`deleted-${index}`))
  for (let index = 0; index < deletedBefore; index++) rmSync(join(dir, `deleted-${index}`))
  for (const name of ['first', 'second', 'third']) closeSync(take(name))
  const { made, pooled } = await inTurns(rounds, {
    made: round => timeOf(async () => closeSync(make(`made-${round}`))),
    async pooled(round) {
      while (pool.count === 0) await setImmediate()
      return timeOf(async () => closeSync(take(`pooled-${round}`)))
    },
  })
  return [row('process.output-file.p50', percentile(pooled, 0.5), 'ms', percentile(made, 0.5))]
}
