/** The daemon of the runtime bundle: processor time until it listens, and memory at rest, beside an empty Node. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Bench } from './measure.ts'
import { row, type Row } from './report.ts'

interface Measured {
  readonly emptyNode: { readonly startCpuMs: number; readonly restMb: number }
  readonly daemon: { startCpuMs: number; restMb: number; afterWorkMb: number; afterRestMb: number }
}

const measure = fileURLToPath(new URL('../../images/runtime/measure.ts', import.meta.url))

export const bundleBench = async (bench: Bench): Promise<Row[]> => {
  bench.say('ten daemons, and ten times Node alone')
  const { stdout } = await promisify(execFile)(process.execPath, [measure, '--json'])
  const { emptyNode, daemon } = JSON.parse(stdout) as Measured
  return [
    row('bundle.start.cpu', daemon.startCpuMs, 'ms', emptyNode.startCpuMs),
    row('bundle.memory.rest', daemon.restMb, 'MB', emptyNode.restMb),
    row('bundle.memory.after-work', daemon.afterWorkMb, 'MB', emptyNode.restMb),
    row('bundle.memory.after-work-and-rest', daemon.afterRestMb, 'MB', emptyNode.restMb),
  ]
}
