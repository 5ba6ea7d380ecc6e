/** Commands run one after another beside a server in Go that does no more than that: how long one takes, and what it costs the server. */
import { cpuOf } from '../child.ts'
import { inTurns, timeOf, type Bench } from '../measure.ts'
import { percentile, row, type Row } from '../report.ts'
import type { Contestants } from './contestants.ts'

/** Of each; the kernel counts processor time in hundredths of a second. */
const turns = 10
const each = 40

const runTrue = async (port: number): Promise<void> => {
  const answer = await fetch(`http://127.0.0.1:${port}/process`, {
    method: 'POST',
    body: JSON.stringify({ command: 'true', waitForCompletion: true }),
  })
  const { exitCode } = (await answer.json()) as { exitCode: number }
  if (answer.status !== 200 || exitCode !== 0) throw new Error(`exec: ${answer.status}, exit code ${exitCode}`)
}

export const execs = async (_bench: Bench, { ours, go }: Contestants): Promise<Row[]> => {
  if (!go) return []
  const costs = { ours: [] as number[], go: [] as number[] }
  const times = { ours: [] as number[], go: [] as number[] }
  const task =
    (who: keyof typeof costs, { port, pid }: { port: number; pid: number }) =>
    async (turn: number) => {
      const before = cpuOf(pid)
      for (let index = 0; index < each; index++) {
        const ms = await timeOf(() => runTrue(port))
        // The first turn is of code that nobody has run.
        if (turn > 0) times[who].push(ms)
      }
      if (turn > 0) costs[who].push((cpuOf(pid) - before) / each)
      return 0
    }
  await inTurns(turns + 1, { ours: task('ours', ours), go: task('go', go) })
  const middle = (samples: readonly number[]) => percentile(samples, 0.5)
  return [
    row('beside.exec.against-go', middle(times.ours), 'ms', middle(times.go)),
    row('beside.exec.cpu.against-go', middle(costs.ours), 'ms', middle(costs.go)),
  ]
}
