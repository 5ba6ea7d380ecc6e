/** A daemon in a process of its own on a free port of loopback; tells its parent the port and ends when the parent does. */
import { loadConfig } from '../../daemon/config/config.ts'
import { parseFlags } from '../../daemon/config/flags.ts'
import { createDaemon } from '../../daemon/daemon.ts'
import { createProgram } from '../../daemon/upgrade/program.ts'
import { systemClock } from '../../shared/clock.ts'
import { listen } from '../../shared/http/listen.ts'
import { serveByLane } from '../../shared/lane/serve.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog } from '../../shared/log.ts'

const config = loadConfig({ env: process.env, flags: parseFlags([]), cwd: process.cwd() })
const clock = systemClock()
const daemon = await createDaemon(config, {
  clock,
  ids: randomIds(),
  log: silentLog,
  program: createProgram({ args: [], env: process.env }),
})
const listening = await listen(serveByLane(daemon.dispatcher, { log: silentLog, clock, begun: () => () => {} }), {
  port: 0,
  host: '127.0.0.1',
})
process.send?.({ port: listening.port })
process.once('disconnect', () => {
  const end = async () => {
    await listening.close(100)
    await daemon.close()
  }
  void end().finally(() => process.exit(0))
})
