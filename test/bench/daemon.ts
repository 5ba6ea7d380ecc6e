/** A hutchd of its own process to measure, with directories that go away with it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../daemon/main.ts', import.meta.url))

export interface MeasuredDaemon {
  readonly url: string
  readonly port: number
  readonly dir: string
  /** Proportional memory in bytes. */
  memory(): number
  /** CPU time so far in milliseconds. */
  cpu(): number
  close(): Promise<void>
}

const ticksPerSecond = 100

export const measuredDaemon = async (env: Record<string, string> = {}): Promise<MeasuredDaemon> => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-bench-'))
  const child = spawn(process.execPath, [main, '--port', '0', '--disable-telemetry'], {
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
  const exited = once(child, 'exit')
  const port = await new Promise<number>((resolve, reject) => {
    let log = ''
    child.stderr.on('data', piece => {
      log = (log + piece).slice(-100_000)
      const found = /"event":"daemon.listening".*"port":(\d+)/.exec(log)?.[1]
      if (found) resolve(Number(found))
    })
    child.once('exit', () => reject(new Error(`the daemon ended: ${log}`)))
  })
  const { pid } = child
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    dir,
    memory: () => Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024,
    cpu: () => {
      const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
    },
    async close() {
      child.kill('SIGKILL')
      await exited
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
