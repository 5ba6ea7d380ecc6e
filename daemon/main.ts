/** hutchd: configuration, the daemon, a socket, signals. */
import { systemClock } from '../shared/clock.ts'
import { closing, type Closing } from '../shared/closing.ts'
import { messageOf } from '../shared/errors.ts'
import { listen, type Listening } from '../shared/http/listen.ts'
import { serve } from '../shared/http/server.ts'
import { drawnAtOnce, idsFrom } from '../shared/ids.ts'
import { jsonLog } from '../shared/log.ts'
import { loadConfig, type Config } from './config.ts'
import { parseFlags } from './config/flags.ts'
import { gatherEnvironment } from './config/sources.ts'
import { createDaemon } from './daemon.ts'
import { doorOf, inheritedSocket } from './system/upgrade/door.ts'
import { takeOver, type Inherited } from './system/upgrade/handover.ts'
import { holdBundles } from './system/upgrade/hold.ts'
import { programOf, rehearsalSocket, type Program } from './system/upgrade/program.ts'
import { createCollector } from './memory/collector.ts'
import { keepFewParsers } from './memory/parsers.ts'
import { rest } from './memory/rest.ts'
import { limitHeap } from './native/memory.ts'
import { randomBytes } from './native/sys.ts'
import { guardStops, protectDaemon } from './init/protect.ts'

const clock = systemClock()
const log = jsonLog({ level: 'info', now: clock.now, write: line => void process.stderr.write(line) })
const args = process.argv.slice(2)

const configure = (inherited: Inherited): Config => {
  const cwd = process.cwd()
  const flags = parseFlags(args)
  return loadConfig({ env: gatherEnvironment(process.env, cwd, log), flags, cwd, inherited })
}

const run = async (inherited: Inherited, program: Program, stop: Closing): Promise<Listening> => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop.close().then(() => process.exit(0)))
  guardStops(process.pid)
  const config = configure(inherited)
  if (config.heapLimitBytes !== undefined) limitHeap(config.heapLimitBytes)
  const daemon = await createDaemon(config, { clock, ids: idsFrom(drawnAtOnce(randomBytes)), log, program })
  stop.add('daemon', daemon.close)
  const given = config.rehearsal ? rehearsalSocket : inheritedSocket(inherited.listener)
  const place = given ?? { port: config.port, ...(config.host !== undefined && { host: config.host }) }
  const listening = await listen(serve(daemon.dispatcher, { log }), place)
  stop.add('http', () => listening.close(10_000))
  log.info('daemon.listening', { port: listening.port })
  return listening
}

const main = async (): Promise<void> => {
  protectDaemon({ log, pid: process.pid })
  holdBundles(process.argv[1])
  keepFewParsers()
  rest(createCollector)
  const inherited = takeOver(process.env)
  let listening: Listening | undefined
  const door = doorOf(() => listening)
  const program = programOf({ args, env: process.env, script: process.argv[1], door })
  const stop = closing({ log })
  const failed = async (error: unknown): Promise<void> => {
    log.error('daemon.failed', { error })
    try {
      program.goBack(inherited, messageOf(error))
    } catch (failure) {
      log.error('daemon.back-failed', { error: failure })
    }
    // What was started by then, such as the command of `-c`, must not outlive a daemon that never was.
    await stop.close()
    process.exit(1)
  }
  const uncaught = (error: unknown) => void failed(error)
  process.once('uncaughtException', uncaught)
  try {
    listening = await run(inherited, program, stop)
    process.off('uncaughtException', uncaught)
  } catch (error) {
    await failed(error)
  }
}

void main()
