/** Large files sent with a length and without one, as they are and in a form: beside a server in Go that copies what it reads to a file. */
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cpuOf, find } from '../child.ts'
import { inTurns, timeOf, type Bench } from '../measure.ts'
import { percentile, row, type Row } from '../report.ts'
import type { Contestants } from './contestants.ts'

const run = promisify(execFile)
const megabytes = 128
const rounds = 7

const octets = ['-H', 'content-type: application/octet-stream']
const chunks = ['-H', 'transfer-encoding: chunked']
/** Arguments of curl; `source` is the file. */
const ways: Readonly<Record<string, (source: string) => string[]>> = {
  raw: source => ['-T', source, ...octets],
  'raw-in-chunks': source => ['-T', source, ...octets, ...chunks],
  form: source => ['-X', 'PUT', '-F', `file=@${source}`],
  'form-in-chunks': source => ['-X', 'PUT', '-F', `file=@${source}`, ...chunks],
}

export const uploads = async (bench: Bench, { ours, go }: Contestants, dir: string): Promise<Row[]> => {
  const curl = find('curl')
  if (!curl || !go) {
    if (!curl) bench.skip('beside.upload.*', 'needs curl: apt-get install curl')
    return []
  }
  const source = join(dir, 'source.bin')
  await run('dd', ['if=/dev/urandom', `of=${source}`, 'bs=1M', `count=${megabytes}`])
  const rows: Row[] = []
  for (const [name, argsOf] of Object.entries(ways)) {
    const costs = { ours: [] as number[], go: [] as number[] }
    const task =
      (who: keyof typeof costs, { port, pid }: { port: number; pid: number }) =>
      async () => {
        const target = `sent-${who}.bin`
        // A file that is written anew costs more than one whose pages are there: all begin without.
        rmSync(join(dir, target), { force: true })
        const before = cpuOf(pid)
        const url = `http://127.0.0.1:${port}/filesystem/${target}`
        const ms = await timeOf(() => run(curl, ['-sSf', '-o', '/dev/null', '-H', 'expect:', ...argsOf(source), url]))
        costs[who].push(cpuOf(pid) - before)
        return megabytes / (ms / 1000)
      }
    const rates = await inTurns(rounds, { ours: task('ours', ours), go: task('go', go) })
    const middle = (samples: readonly number[]) => percentile(samples, 0.5)
    rows.push(
      row(`beside.upload.${name}.against-go`, Math.max(...rates.ours), 'MB/s', Math.max(...rates.go)),
      row(`beside.upload.${name}.cpu.against-go`, middle(costs.ours), 'ms', middle(costs.go)),
    )
  }
  for (const who of ['ours', 'go']) {
    await run('cmp', [source, join(dir, `sent-${who}.bin`)])
    rmSync(join(dir, `sent-${who}.bin`))
  }
  rmSync(source)
  return rows
}
