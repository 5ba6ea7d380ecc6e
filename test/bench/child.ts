/** Processes that a benchmark starts and ends by their id. */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from './measure.ts'
import type { SpawnerAsked } from './spawner.ts'

const ended = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** A directory that goes away at the end; its path has no symbolic links. */
export const scratch = (bench: Bench, name: string): string => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), `hutch-bench-${name}-`)))
  bench.later(dir, () => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Starts a program that ends with the benchmark: `signal` first, SIGKILL when it takes longer than 20 s. */
export const start = (
  bench: Bench,
  file: string,
  args: readonly string[],
  options: Omit<SpawnOptions, 'signal'> & { signal?: NodeJS.Signals } = {},
): ChildProcess => {
  const { signal = 'SIGKILL', ...rest } = options
  const child = spawn(file, args, rest)
  const failed = once(child, 'exit').catch((error: unknown) => error)
  bench.later(file, async () => {
    if (ended(child) || child.pid === undefined) return
    child.kill(signal)
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
    await failed
    clearTimeout(timer)
  })
  return child
}

/** Runs one of our own scripts with an IPC channel; resolves with it and its first message. */
export const startScript = async <Said>(
  bench: Bench,
  script: URL,
  args: readonly string[] = [],
): Promise<{ child: ChildProcess; pid: number; said: Said }> => {
  const child = start(bench, process.execPath, [script.pathname, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    signal: 'SIGTERM',
  })
  const [said] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error(`${script.pathname} ended before it was ready`)
    }),
  ])) as [Said]
  return { child, pid: child.pid as number, said }
}

/** Milliseconds that a plain Node takes for `count` times `/bin/sh -c true`, `parallel` at once: the floor of an exec. */
export type Spawner = (count?: number, parallel?: number) => Promise<number>

/** The spawner of `spawner.ts`. Whoever compares with it must not fork while measuring. */
export const startSpawner = async (bench: Bench): Promise<Spawner> => {
  const { child } = await startScript(bench, new URL('spawner.ts', import.meta.url))
  return async (count = 1, parallel = 1) => {
    const asked: SpawnerAsked = { count, parallel }
    child.send(asked)
    const [ms] = (await once(child, 'message')) as [number]
    return ms
  }
}

/** The program in one of the usual places, or undefined. */
export const find = (name: string): string | undefined =>
  ['/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
    .map(dir => join(dir, name))
    .find(path => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

/** A port of loopback that was free a moment ago. */
export const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise(resolve => probe.close(resolve))
  return port
}

/** Waits until something accepts connections there; throws when `child` ends before. */
export const untilListens = async (child: ChildProcess, port: number): Promise<void> => {
  for (;;) {
    if (ended(child)) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`)
    const socket = connect(port, '127.0.0.1')
    const up = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (up) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const ticksPerSecond = 100

/** Processor time of a process so far, in ms. */
export const cpuOf = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
}

/** A field of /proc/PID/smaps_rollup, in bytes. */
const mapped = (pid: number, field: string): number => {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024
}

/** Proportional memory of a process in bytes: what is shared counts by its share. */
export const memoryOf = (pid: number): number => mapped(pid, 'Pss')

/** Memory in bytes that the process has written: without what is mapped from files. */
export const writtenMemoryOf = (pid: number): number => mapped(pid, 'Anonymous')
