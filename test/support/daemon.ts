/** A daemon to test against: real parts, its own directories, gone when the test ends. */
import './native.ts'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Connections } from '../../daemon/channel/connections.ts'
import { loadConfig, type Config } from '../../daemon/config/config.ts'
import { parseFlags } from '../../daemon/config/flags.ts'
import { createDaemon, type Daemon } from '../../daemon/daemon.ts'
import type { NodeInternals } from '../../daemon/node-internals/index.ts'
import type { Inherited } from '../../daemon/upgrade/handover.ts'
import { createProgram, type Program } from '../../daemon/upgrade/program.ts'
import { systemClock, type Clock } from '../../shared/clock.ts'
import { call, type Answer, type CallOptions } from './call.ts'
import { listen } from '../../shared/http/listen.ts'
import { serveByLane } from '../../shared/lane/serve.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog, type Log } from '../../shared/log.ts'

export interface Options {
  /** Added to the environment the daemon starts with. */
  readonly env?: Record<string, string>
  readonly argv?: readonly string[]
  /** Fixture below the working directory, as for `t.testdir`. */
  readonly files?: Parameters<Test['testdir']>[0]
  readonly log?: Log
  readonly clock?: Clock
  /** What the daemon is and may become, for upgrades. */
  readonly program?: Program
  /** Who speaks on which connection; everybody is the host unless given. */
  readonly connections?: Connections
  /** What an earlier daemon has left. */
  readonly inherited?: Inherited
  /** With some of them switched off. */
  readonly nodeInternals?: NodeInternals
  /** Collects what the start has left. */
  readonly tidy?: () => void
}

export interface TestDaemon {
  readonly call: (method: string, target: string, options?: CallOptions) => Promise<Answer>
  /** The daemon's working directory. */
  readonly dir: string
  readonly config: Config
  readonly daemon: Daemon
  readonly close: () => Promise<void>
}

/** A daemon in this process; `call('GET', '/health')` needs no socket. Replies are checked against their declarations. */
export const daemon = async (t: Test, options: Options = {}): Promise<TestDaemon> => {
  const root = t.testdir({ work: options.files ?? {}, logs: {}, state: {}, tmp: {}, home: {} })
  const dir = join(root, 'work')
  for (const name of ['logs', 'state', 'tmp', 'home']) mkdirSync(join(root, name), { recursive: true })
  const env = {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: join(root, 'home'),
    TMPDIR: join(root, 'tmp'),
    WORKDIR: dir,
    SANDBOX_LOG_DIR: join(root, 'logs'),
    SANDBOX_STATE_FILE: join(root, 'state', 'processes.json'),
    SANDBOX_PROXY_STATE_FILE: join(root, 'state', 'proxy.json'),
    SANDBOX_MERGED_CA_PATH: join(root, 'state', 'ca.crt'),
    SVC_METADATA_PATH: join(root, 'state', 'metadata'),
    SVC_SCALE_FILE: join(root, 'state', 'scale'),
    HUTCH_STATE_DIR: join(root, 'state', 'private'),
    HUTCH_UPGRADE_DIR: join(root, 'state', 'upgrade'),
    ...options.env,
  }
  const config = loadConfig({ env, flags: parseFlags(options.argv ?? []), cwd: dir })
  const log = options.log ?? silentLog
  const made = await createDaemon(config, {
    clock: options.clock ?? systemClock(),
    ids: randomIds(),
    log,
    program: options.program ?? createProgram({ args: [], env: process.env }),
    checkReplies: true,
    ...(options.connections ? { connections: options.connections } : {}),
    ...(options.inherited ? { inherited: options.inherited } : {}),
    ...(options.nodeInternals ? { nodeInternals: options.nodeInternals } : {}),
    ...(options.tidy ? { tidy: options.tidy } : {}),
  })
  // Children are not libuv's: nothing else keeps this process alive while a test waits for one.
  const alive = setInterval(() => {}, 60_000)
  t.teardown(async () => {
    await made.close()
    clearInterval(alive)
  })
  return {
    call: (method, target, given) => call(made.dispatcher, method, target, given),
    dir,
    config,
    daemon: made,
    close: made.close,
  }
}

/** The same daemon behind a real socket on loopback: for upgrades, streams that end early, HTTP's own corners. */
export const daemonServer = async (
  t: Test,
  options: Options = {},
): Promise<TestDaemon & { url: string; port: number }> => {
  const made = await daemon(t, options)
  const server = serveByLane(made.daemon.dispatcher, {
    log: options.log ?? silentLog,
    clock: options.clock ?? systemClock(),
    begun: () => () => {},
  })
  const { port, close } = await listen(server, { port: 0, host: '127.0.0.1' })
  t.teardown(() => close(100))
  return { ...made, port, url: `http://127.0.0.1:${port}` }
}
