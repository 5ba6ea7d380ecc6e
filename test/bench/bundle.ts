/**
 * The daemon of the runtime bundle: processor time until it listens, and memory at rest, beside an empty Node.
 *
 *     node test/bench/bundle.ts [--json]        half a minute
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { report, row } from './report.ts'

interface Measured {
  readonly emptyNode: { readonly startCpuMs: number; readonly restMb: number }
  readonly daemon: { startCpuMs: number; restMb: number; afterWorkMb: number; afterRestMb: number }
}

const measure = fileURLToPath(new URL('../../images/runtime/measure.ts', import.meta.url))
const { emptyNode, daemon } = JSON.parse(
  execFileSync(process.execPath, [measure, '--json'], { encoding: 'utf8' }),
) as Measured
report(
  [
    row('bundle.start.cpu', daemon.startCpuMs, 'ms', emptyNode.startCpuMs),
    row('bundle.memory.rest', daemon.restMb, 'MB', emptyNode.restMb),
    row('bundle.memory.after-work', daemon.afterWorkMb, 'MB', emptyNode.restMb),
    row('bundle.memory.after-work-and-rest', daemon.afterRestMb, 'MB', emptyNode.restMb),
  ],
  { json: process.argv.includes('--json'), write: line => void process.stdout.write(`${line}\n`) },
)
