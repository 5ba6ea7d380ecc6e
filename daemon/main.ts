/** hutchd: configuration, the daemon, a socket, signals. */
import { systemClock } from '../shared/clock.ts'
import { closing, type Closing } from '../shared/closing.ts'
import { messageOf } from '../shared/errors.ts'
import { listen, serve, type Listening } from '../shared/http/server.ts'
import { drawnAtOnce, idsFrom } from '../shared/ids.ts'
import { jsonLog } from '../shared/log.ts'
import { loadConfig, type Config } from './config/config.ts'
import { parseFlags } from './config/flags.ts'
import { gatherEnvironment } from './config/sources.ts'
import { createDaemon } from './daemon.ts'
import { createListeningSocket, inheritedSocket } from './upgrade/listening-socket.ts'
import { receiveHandover, type Inherited } from './upgrade/handover.ts'
import { lockBundles } from './upgrade/bundle-lock.ts'
import { createProgram, rehearsalSocket, type Program } from './upgrade/program.ts'
import { createCollector } from './node-internals/collector.ts'
import { limitParserPool } from './node-internals/parser-pool.ts'
import { startIdleGc } from './memory/idle-gc.ts'
import { limitHeap } from './native/memory/memory.ts'
import { randomBytes } from './native/sys/sys.ts'
import { guardStopSignals, protectDaemon } from './init/protect.ts'

const clock = systemClock()
const log = jsonLog({ level: 'info', now: clock.now, write: line => void process.stderr.write(line) })
const args = process.argv.slice(2)

const configure = (): Config => {
  const cwd = process.cwd()
  const flags = parseFlags(args)
  return loadConfig({ env: gatherEnvironment(process.env, cwd, log), flags, cwd })
}

const run = async (inherited: Inherited, program: Program, stop: Closing): Promise<Listening> => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop.close().then(() => process.exit(0)))
  guardStopSignals(process.pid)
  const config = configure()
  if (config.heapLimitBytes !== undefined) limitHeap(config.heapLimitBytes)
  const daemon = await createDaemon(config, { clock, ids: idsFrom(drawnAtOnce(randomBytes)), log, program, inherited })
  stop.add('daemon', daemon.close)
  const given = config.rehearsal ? rehearsalSocket : inheritedSocket(inherited.listener)
  const place = given ?? { port: config.port }
  const listening = await listen(serve(daemon.dispatcher, { log }), place)
  stop.add('http', () => listening.close(10_000))
  log.info('daemon.listening', { port: listening.port })
  return listening
}

const main = async (): Promise<void> => {
  protectDaemon({ log, pid: process.pid })
  lockBundles(process.argv[1])
  limitParserPool()
  startIdleGc(createCollector)
  const inherited = receiveHandover(process.env)
  let listening: Listening | undefined
  const socket = createListeningSocket(() => listening)
  const program = createProgram({ args, env: process.env, script: process.argv[1], socket })
  const stop = closing({ log })
  const failed = async (error: unknown): Promise<void> => {
    log.error('daemon.failed', { error })
    try {
      program.rollBack(inherited, messageOf(error))
    } catch (failure) {
      log.error('daemon.back-failed', { error: failure })
    }
    // What was started by then, such as the command of `-c`, must not outlive a daemon that never was.
    await stop.close()
    process.exit(1)
  }
  process.once('uncaughtException', failed)
  try {
    listening = await run(inherited, program, stop)
    process.off('uncaughtException', failed)
  } catch (error) {
    await failed(error)
  }
}

void main()
