/** A hutchd to measure: that of the bundle, as sandboxes run it, with directories that go away with it. */
import { readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleCommand, scratchEnvironment } from '../../shared/bundle.ts'
import { cpuOf, memoryOf, writtenMemoryOf, scratch, start } from './child.ts'
import type { Bench } from './measure.ts'

const bundle = fileURLToPath(new URL('../../.runtime/bundle', import.meta.url))
/** What "at rest" means in every figure: so long after the last request. The daemon gives memory back by then. */
const restMs = 10_000

export interface MeasuredDaemon {
  readonly url: string
  readonly port: number
  readonly dir: string
  readonly pid: number
  /** Proportional memory in bytes. */
  memory(): number
  /** The same once the daemon has come to rest. */
  memoryAtRest(): Promise<number>
  /** Bytes of memory that it has written. */
  writtenMemory(): number
  /** How many descriptors are open. */
  descriptors(): number
  threads(): number
  /** CPU time so far in milliseconds. */
  cpu(): number
}

export const measuredDaemon = async (bench: Bench, env: Record<string, string> = {}): Promise<MeasuredDaemon> => {
  const dir = scratch(bench, 'daemon')
  const [program, ...args] = bundleCommand(realpathSync(bundle), 'boot.js')
  const child = start(bench, program, [...args, '--port', '0', '--disable-telemetry'], {
    cwd: dir,
    env: {
      ...scratchEnvironment(dir),
      DISABLE_REQUEST_LOGGING: 'true',
      SVC_SCALE_FILE: join(dir, 'no', 'scale'),
      // To measure without a part of Node's internals.
      HUTCH_NODE_INTERNALS_OFF: process.env['HUTCH_NODE_INTERNALS_OFF'] ?? '',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const port = await new Promise<number>((resolve, reject) => {
    let log = ''
    const hear = (piece: Buffer) => {
      log = (log + piece).slice(-100_000)
      const found = /"event":"daemon.listening".*"port":(\d+)/.exec(log)?.[1]
      if (!found) return
      // What comes now is read and dropped: every line would be work for whoever measures.
      child.stderr?.off('data', hear).resume()
      resolve(Number(found))
    }
    child.stderr?.on('data', hear)
    child.once('exit', () => reject(new Error(`the daemon ended: ${log}`)))
  })
  const pid = child.pid as number
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    dir,
    pid,
    memory: () => memoryOf(pid),
    async memoryAtRest() {
      await new Promise(resolve => setTimeout(resolve, restMs))
      return memoryOf(pid)
    },
    writtenMemory: () => writtenMemoryOf(pid),
    threads: () => readdirSync(`/proc/${pid}/task`).length,
    descriptors: () => readdirSync(`/proc/${pid}/fd`).length,
    cpu: () => cpuOf(pid),
  }
}
