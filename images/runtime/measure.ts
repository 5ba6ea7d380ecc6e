/**
 * What a daemon costs: `node images/runtime/measure.ts [--count 10] [--json] [-- node flags instead of ours]`. Starts
 * `count` daemons from `.runtime/bundle` and reads the processor time until each listens, and the proportional memory
 * at rest, after a burst of requests, and at rest again; for comparison also Node with an empty script.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundleCommand, nodeFlags, scratchEnvironment } from '../../shared/bundle.ts'

const { values, positionals } = parseArgs({
  options: { count: { type: 'string', default: '10' }, json: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const flags = positionals.length > 0 ? positionals : nodeFlags
const bundle = realpathSync(fileURLToPath(new URL('../../.runtime/bundle', import.meta.url)))
const scratch = mkdtempSync(join(tmpdir(), 'hutch-measure-'))

interface Started {
  readonly child: ChildProcess
  readonly pid: number
  readonly port: number
  readonly cpuMs: number
}

/** The daemon has given back by then what it does not need. */
const restMs = 10_000

/** Processor time of all threads so far, in ms. */
const cpuMs = (pid: number): number => {
  const tasks = readdirSync(`/proc/${pid}/task`)
  const ns = tasks.map(task => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]))
  return ns.reduce((sum, value) => sum + value, 0) / 1e6
}

const pssMb = (pid: number): number =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024

/** Starts Node on `script` and resolves when its log says that it listens. */
const start = (script: string, number: number): Promise<Started> =>
  new Promise((resolve, reject) => {
    const dir = join(scratch, String(number))
    mkdirSync(dir, { recursive: true })
    const [loader, ...rest] = bundleCommand(bundle, 'boot.js')
    const program = rest.slice(0, rest.indexOf(nodeFlags[0]))
    const child = spawn(loader, [...program, ...flags, script, '--port', '0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...scratchEnvironment(dir), DISABLE_REQUEST_LOGGING: 'true' },
    })
    let said = ''
    child.once('exit', code => reject(new Error(`exited with ${code}: ${said}`)))
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk
      const port = /"daemon\.listening".*"port":(\d+)/.exec(said)?.[1]
      const pid = child.pid
      if (port !== undefined && pid !== undefined) resolve({ child, pid, port: Number(port), cpuMs: cpuMs(pid) })
    })
  })

const work = async (port: number): Promise<void> => {
  const at = (path: string) => `http://127.0.0.1:${port}${path}`
  const headers = { 'content-type': 'application/json' }
  for (let round = 0; round < 20; round++) {
    const content = 'x'.repeat(200_000)
    await (
      await fetch(at('/filesystem/work.txt'), { method: 'PUT', headers, body: JSON.stringify({ content }) })
    ).text()
    await (await fetch(at('/filesystem/work.txt'))).text()
    const body = JSON.stringify({ command: 'true', waitForCompletion: true })
    await (await fetch(at('/process'), { method: 'POST', headers, body })).text()
    await (await fetch(at('/process'))).text()
  }
}

const mean = (numbers: readonly number[]): number =>
  Math.round((numbers.reduce((sum, value) => sum + value, 0) / numbers.length) * 10) / 10

const group = async (script: string, count: number, withWork: boolean) => {
  const started: Started[] = []
  try {
    for (let number = 0; number < count; number++) started.push(await start(script, number))
    const memory = () => mean(started.map(({ pid }) => pssMb(pid)))
    await sleep(restMs)
    const result: Record<string, number> = { startCpuMs: mean(started.map(one => one.cpuMs)), restMb: memory() }
    if (withWork) {
      for (const { port } of started) await work(port)
      result['afterWorkMb'] = memory()
      await sleep(restMs)
      result['afterRestMb'] = memory()
    }
    return result
  } finally {
    for (const { child } of started) {
      child.removeAllListeners('exit')
      child.kill('SIGKILL')
    }
  }
}

try {
  const empty = join(scratch, 'empty.cjs')
  writeFileSync(empty, `setInterval(() => {}, 1e9); process.stderr.write('"daemon.listening" "port":0\\n')`)
  const count = Number(values.count)
  const result = {
    flags,
    count,
    emptyNode: await group(empty, count, false),
    daemon: await group(join(bundle, 'daemon/boot.js'), count, true),
  }
  console.log(values.json ? JSON.stringify(result) : result)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
