/** A hutchd of its own process to measure, with directories that go away with it. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpuOf, memoryOf, scratch, start } from './child.ts'
import type { Bench } from './measure.ts'

const main = fileURLToPath(new URL('../../daemon/main.ts', import.meta.url))

export interface MeasuredDaemon {
  readonly url: string
  readonly port: number
  readonly dir: string
  /** Proportional memory in bytes. */
  memory(): number
  /** CPU time so far in milliseconds. */
  cpu(): number
}

export const measuredDaemon = async (bench: Bench, env: Record<string, string> = {}): Promise<MeasuredDaemon> => {
  const dir = scratch(bench, 'daemon')
  const child = start(bench, process.execPath, [main, '--port', '0', '--disable-telemetry'], {
    cwd: dir,
    env: {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: dir,
      TMPDIR: dir,
      WORKDIR: dir,
      DISABLE_REQUEST_LOGGING: 'true',
      SANDBOX_LOG_DIR: join(dir, 'logs'),
      HUTCH_STATE_DIR: join(dir, 'state'),
      SVC_SCALE_FILE: join(dir, 'no', 'scale'),
      SANDBOX_MERGED_CA_PATH: join(dir, 'ca.crt'),
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const port = await new Promise<number>((resolve, reject) => {
    let log = ''
    child.stderr?.on('data', piece => {
      log = (log + piece).slice(-100_000)
      const found = /"event":"daemon.listening".*"port":(\d+)/.exec(log)?.[1]
      if (found) resolve(Number(found))
    })
    child.once('exit', () => reject(new Error(`the daemon ended: ${log}`)))
  })
  const pid = child.pid as number
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    dir,
    memory: () => memoryOf(pid),
    cpu: () => cpuOf(pid),
  }
}
