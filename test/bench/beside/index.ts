/** The daemon beside what needs no daemon: the same work by others on this machine, by turns in the same run. */
import { noGo } from '../go-program.ts'
import type { Bench } from '../measure.ts'
import type { Row } from '../report.ts'
import { startContestants } from './contestants.ts'
import { downloads } from './downloads.ts'
import { execs } from './execs.ts'
import { looking } from './looking.ts'
import { openStreams } from './open-streams.ts'
import { smallReads } from './small-reads.ts'
import { starts } from './starts.ts'
import { uploads } from './uploads.ts'
import { waiting } from './waiting.ts'

const parts = { smallReads, downloads, uploads, execs, openStreams, waiting, looking, starts }

export const besideBench = async (bench: Bench): Promise<Row[]> => {
  bench.say('building a daemon in Go')
  const { dir, ...all } = await startContestants(bench)
  if (!all.go) bench.skip('beside.*.against-go', noGo)
  const rows: Row[] = []
  for (const [name, measure] of Object.entries(parts)) {
    bench.say(name)
    rows.push(...(await measure(bench, all, dir)))
  }
  return rows
}
