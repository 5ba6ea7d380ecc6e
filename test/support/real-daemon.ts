/** hutchd in a process of its own, as `make daemon` runs it, in directories of its own. */
import './native.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { scratchEnvironment } from '../../shared/bundle.ts'
import { until } from './processes.ts'

const main = fileURLToPath(new URL('../../daemon/main.ts', import.meta.url))

export interface RealDaemon {
  readonly dir: string
  readonly url: string
  readonly pid: number
  /** SIGKILL, as a crash is. */
  kill(): Promise<void>
  /** Another daemon over the same directories, after the first one is gone. */
  next(): Promise<RealDaemon>
}

const launch = async (t: Test, dir: string, env: Record<string, string>): Promise<RealDaemon> => {
  const child = spawn(process.execPath, [main, '--port', '0', '--disable-telemetry'], {
    cwd: join(dir, 'work'),
    env: { ...scratchEnvironment(dir), WORKDIR: join(dir, 'work'), SVC_SCALE_FILE: join(dir, 'no/scale'), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  let log = ''
  child.stderr.on('data', piece => (log += piece))
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  const port = await until('the port', () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the daemon ended: ${log}`)
    return /"event":"daemon.listening".*"port":(\d+)/.exec(log)?.[1]
  })
  const url = `http://127.0.0.1:${port}`
  // Whatever it still runs ends with the test; a daemon that was killed has nothing to say any more.
  t.teardown(async () => {
    try {
      if (child.exitCode !== null || child.signalCode !== null) return
      const list = (await (await fetch(`${url}/process`)).json()) as { pid: string; status: string }[]
      for (const { pid, status } of list)
        if (status === 'running') await fetch(`${url}/process/${pid}/kill`, { method: 'DELETE' })
    } finally {
      await kill()
    }
  })
  return { dir, url, pid: child.pid as number, kill, next: () => launch(t, dir, env) }
}

/** Starts one; `env` is added to its environment. */
export const realDaemon = (t: Test, env: Record<string, string> = {}): Promise<RealDaemon> => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'hutch-daemon-')))
  for (const name of ['work', 'scratch']) mkdirSync(join(dir, name))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return launch(t, dir, env)
}
