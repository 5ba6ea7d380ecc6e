/** hutchd: configuration, the daemon, a socket, signals. */
import { systemClock } from '../shared/clock.ts'
import { closing } from '../shared/closing.ts'
import { listen, serve } from '../shared/http/server.ts'
import { idsFrom } from '../shared/ids.ts'
import { jsonLog } from '../shared/log.ts'
import { loadConfig } from './config.ts'
import { parseFlags } from './config/flags.ts'
import { gatherEnvironment } from './config/sources.ts'
import { createDaemon } from './daemon.ts'
import { programOf } from './system/upgrade/program.ts'
import { limitHeap } from './native/memory.ts'
import { randomBytes } from './native/sys.ts'
import { guardStops, protectDaemon } from './init/protect.ts'

const clock = systemClock()
const log = jsonLog({ level: 'info', now: clock.now, write: line => void process.stderr.write(line) })

const stop = closing({ log })

const run = async (): Promise<void> => {
  protectDaemon({ log, pid: process.pid })
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop.close().then(() => process.exit(0)))
  guardStops(process.pid)
  const cwd = process.cwd()
  const args = process.argv.slice(2)
  const flags = parseFlags(args)
  const config = loadConfig({ env: gatherEnvironment(process.env, cwd, log), flags, cwd })
  if (config.heapLimitBytes !== undefined) limitHeap(config.heapLimitBytes)
  const program = programOf({ args, env: process.env, script: process.argv[1] })
  const daemon = await createDaemon(config, { clock, ids: idsFrom(randomBytes), log, program })
  stop.add('daemon', daemon.close)
  const listening = await listen(serve(daemon.dispatcher, { log }), { port: config.port })
  stop.add('http', () => listening.close(10_000))
  log.info('daemon.listening', { port: listening.port })
}

run().catch(async error => {
  log.error('daemon.failed', { error })
  // What was started by then, such as the command of `-c`, must not outlive a daemon that never was.
  await stop.close()
  process.exit(1)
})
