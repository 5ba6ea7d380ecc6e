/** The server as an operator runs it: `node control/main.ts run` in a process of its own, over real machines. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openHierarchy } from '../../control/drivers/oci/cgroup/hierarchy.ts'
import { namesOf, tagOf, type Names } from '../../control/drivers/oci/names.ts'
import { sweepInstance } from '../../control/drivers/oci/sweep.ts'
import { systemClock } from '../../shared/clock.ts'
import { coverageEnvironment, programArguments, saveCoverage } from './coverage.ts'
import { holdAnswers } from './hold-answers.ts'

const root = new URL('../..', import.meta.url).pathname
const clock = systemClock()

/** Whatever runs things at the end, the newest first: a test, a benchmark. */
export interface Teardowns {
  teardown(undo: () => unknown): unknown
}

export interface Answer {
  readonly status: number
  // Untyped on purpose: tests look at single fields.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
  readonly text: string
}

export interface Server {
  readonly dataDir: string
  readonly names: Names
  readonly url: string
  readonly key: string
  /** JSON in and out; `target` is a path of the host or a whole URL. */
  call(method: string, target: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Polls a sandbox until `look` is true of its record; throws after two minutes, or `withinMs`. */
  until(
    name: string,
    look: (body: Answer['body'], status: number) => boolean,
    headers?: Record<string, string>,
    withinMs?: number,
  ): Promise<Answer['body']>
  /** SIGKILL, as a crash is; where coverage is measured, it is written before. */
  kill(): Promise<void>
  /** SIGTERM, and its exit code. */
  stop(): Promise<number | null>
  start(): Promise<void>
  /** Of the server's own process. */
  pid(): number | undefined
  /** Whether that process has not ended, by itself or otherwise. */
  isRunning(): boolean
  /** What it has printed since the last start. */
  output(): string
}

/** A data directory, in `place`, that is gone with everything of its instance when the test ends, also after a failure. */
export const scratchInstance = (t: Teardowns, place = tmpdir()): { dataDir: string; names: Names } => {
  const dataDir = realpathSync(mkdtempSync(join(place, 'hutch-e2e-')))
  const names = namesOf(tagOf(dataDir))
  t.teardown(async () => {
    await sweepInstance(await openHierarchy(), names, clock)
    rmSync(dataDir, { recursive: true, force: true })
  })
  return { dataDir, names }
}

/**
 * Starts a server of its own with a short standby unless `env` says otherwise, with its data in the `TMPDIR` that says; `within` is a command
 * that starts another, `before` is done with its empty data directory.
 */
export const server = async (
  t: Teardowns,
  env: Record<string, string> = {},
  within: readonly string[] = [],
  before: (empty: { dataDir: string }) => Promise<void> = async () => {},
): Promise<Server> => {
  const { dataDir, names } = scratchInstance(t, env['TMPDIR'])
  let child: ChildProcess | undefined
  let output = ''
  let url = ''
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null
  const exited = async () => {
    if (child && isRunning()) await once(child, 'exit')
  }
  const start = async () => {
    output = ''
    // A benchmark's has what `make run` gives it.
    const given = 'NODE_COMPILE_CACHE' in env ? [] : programArguments
    const [file = '', ...args] = [...within, process.execPath, ...given, 'control/main.ts', 'run']
    const started = spawn(file, args, {
      cwd: root,
      env: {
        ...coverageEnvironment,
        PATH: process.env['PATH'] ?? '',
        HUTCH_DATA_DIR: dataDir,
        HUTCH_PORT: '0',
        HUTCH_LOG_LEVEL: 'warn',
        // None that no test has asked for.
        HUTCH_WARM: '',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = started
    const closed = once(started, 'close')
    for (const stream of [started.stdout, started.stderr]) stream.on('data', piece => (output += piece))
    const end = performance.now() + 120_000
    while (!/serving on (\S+)/.test(output)) {
      if (started.exitCode !== null || started.signalCode !== null) {
        // What it has said may be on its way still; what it has started may hold its pipes.
        await Promise.race([closed, clock.sleep(1_000)])
        throw new Error(`the server ended with ${started.exitCode ?? started.signalCode}: ${output}`)
      }
      if (performance.now() > end) throw new Error(`the server does not serve: ${output}`)
      await clock.sleep(10)
    }
    url = /serving on (\S+)/.exec(output)?.[1] ?? ''
  }
  const stop = async () => {
    child?.kill('SIGTERM')
    await exited()
    return child?.exitCode ?? null
  }
  t.teardown(async () => {
    child?.kill('SIGTERM')
    const late = setTimeout(() => child?.kill('SIGKILL'), 15_000)
    await exited()
    clearTimeout(late)
  })
  await before({ dataDir })
  await start()
  const key = readFileSync(join(dataDir, 'admin-key'), 'utf8').trim()
  const hold = holdAnswers(() => url, 'HUTCH_BUNDLE_DIR' in env)
  const call: Server['call'] = async (method, target, body, headers = {}) => {
    const answer = await fetch(new URL(target, url), {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'svc-version': '2026-04-28',
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    await hold(method, answer, text)
    const isJson = (answer.headers.get('content-type') ?? '').startsWith('application/json')
    return { status: answer.status, text, body: isJson ? JSON.parse(text) : undefined }
  }
  return {
    dataDir,
    names,
    get url() {
      return url
    },
    key,
    call,
    async until(name, look, headers, withinMs = 120_000) {
      for (const end = performance.now() + withinMs; ; ) {
        const { body, status } = await call('GET', `/v0/sandboxes/${name}`, undefined, headers)
        if (look(body, status)) return body
        if (performance.now() > end) throw new Error(`sandbox ${name} stays ${JSON.stringify(body)}`)
        await clock.sleep(20)
      }
    },
    pid: () => child?.pid,
    isRunning,
    async kill() {
      if (child) await saveCoverage(child)
      child?.kill('SIGKILL')
      await exited()
    },
    stop,
    start,
    output: () => output,
  }
}
