/** A large file to curl: how fast, and what it costs the server's processor. */
import { execFile } from 'node:child_process'
import { createWriteStream, rmSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cpuOf, find } from '../child.ts'
import { inTurns, timeOf, type Bench } from '../measure.ts'
import { nginx, noNginx } from '../nginx.ts'
import { percentile, row, type Row } from '../report.ts'
import type { Contestants } from './contestants.ts'

const run = promisify(execFile)
const megabytes = 256
const rounds = 7
/** Downloads a round: the kernel counts processor time in hundredths of a second. */
const atOnce = 3

const fill = async (path: string): Promise<void> => {
  const piece = randomBytes(1024 * 1024)
  const out = createWriteStream(path)
  for (let index = 0; index < megabytes; index++) if (!out.write(piece)) await once(out, 'drain')
  out.end()
  await once(out, 'close')
}

export const downloads = async (bench: Bench, { ours, go }: Contestants, dir: string): Promise<Row[]> => {
  const curl = find('curl')
  if (!curl) {
    bench.skip('beside.download.*', 'needs curl: apt-get install curl')
    return []
  }
  const path = join(dir, 'beside.bin')
  await fill(path)
  const engine = await nginx(bench, '', `location /filesystem/ { alias ${dir}/; }`)
  if (!engine) bench.skip('beside.download.*.against-nginx', noNginx)
  const all = { ours, nginx: engine && { port: engine.port, pid: engine.worker }, go }
  const costs: Record<string, number[]> = {}
  const tasks: Record<string, () => Promise<number>> = {}
  for (const [who, one] of Object.entries(all)) {
    if (!one) continue
    const cost: number[] = []
    costs[who] = cost
    const url = `http://127.0.0.1:${one.port}/filesystem/beside.bin?download=true`
    tasks[who] = async () => {
      const before = cpuOf(one.pid)
      const ms = await timeOf(async () => {
        for (let index = 0; index < atOnce; index++) await run(curl, ['-sSf', '-o', '/dev/null', url])
      })
      cost.push((cpuOf(one.pid) - before) / atOnce)
      return (megabytes * atOnce) / (ms / 1000)
    }
  }
  const speeds = await inTurns(rounds, tasks)
  rmSync(path)
  const best = (who: string) => Math.max(...(speeds[who] as number[]))
  const cost = (who: string) => percentile(costs[who] as number[], 0.5)
  return ['nginx', 'go']
    .filter(who => speeds[who])
    .flatMap(who => [
      row(`beside.download.against-${who}`, best('ours'), 'MB/s', best(who)),
      row(`beside.download.cpu.against-${who}`, cost('ours'), 'ms', cost(who)),
    ])
}
