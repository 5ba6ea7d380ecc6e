/** The daemon beside what needs no daemon: the same work by others on this machine, by turns in the same run. */
import { startScript } from '../child.ts'
import { measuredDaemon } from '../daemon.ts'
import { goProgram, noGo } from '../go-program.ts'
import type { Bench } from '../measure.ts'
import type { Row } from '../report.ts'
import type { Contestants } from './contestants.ts'
import { downloads } from './downloads.ts'
import { looking } from './looking.ts'
import { openStreams } from './open-streams.ts'
import { smallReads } from './small-reads.ts'
import { execs } from './execs.ts'
import { starts } from './starts.ts'
import { uploads } from './uploads.ts'

export const besideBench = async (bench: Bench): Promise<Row[]> => {
  const daemon = await measuredDaemon(bench)
  const { dir } = daemon
  bench.say('building a daemon in Go')
  const go = await goProgram(bench, new URL('../go-files/main.go', import.meta.url), dir)
  if (!go) bench.skip('beside.*.against-go', noGo)
  const { pid, said: port } = await startScript<number>(bench, new URL('plain-node.ts', import.meta.url), [dir])
  const all: Contestants = { ours: daemon, node: { pid, port }, go }
  const rows: Row[] = []
  for (const [name, measure] of Object.entries({
    smallReads,
    downloads,
    uploads,
    execs,
    openStreams,
    looking,
    starts,
  })) {
    bench.say(name)
    rows.push(...(await measure(bench, all, dir)))
  }
  return rows
}
