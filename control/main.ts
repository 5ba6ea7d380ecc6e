/** The server: configuration, the host, a socket, signals. */
import { join } from 'node:path'
import { systemClock } from '../shared/clock.ts'
import { messageOf } from '../shared/errors.ts'
import { randomIds } from '../shared/ids.ts'
import { jsonLog } from '../shared/log.ts'
import { loadConfig } from './config.ts'
import { createHost } from './host.ts'

const say = (line: string) => void process.stdout.write(`${line}\n`)

const run = async (): Promise<void> => {
  const config = loadConfig(process.env, process.cwd())
  const clock = systemClock()
  const log = jsonLog({ level: config.logLevel, now: clock.now, write: line => void process.stderr.write(line) })
  const host = await createHost(config, { clock, ids: randomIds(), log })
  const { url } = await host.listen()
  const keyFile = join(config.dataDir, 'admin-key')
  say(`hutch: serving on ${url} with driver ${host.drivers.preferred.name}; data in ${config.dataDir}`)
  say(`hutch: the admin key is in ${keyFile}; try`)
  say(`  curl -s -H "Authorization: Bearer $(cat ${keyFile})" ${url}/v0/sandboxes`)
  let stopping = false
  const stop = () => {
    // Whoever asks twice does not want to wait.
    if (stopping) process.exit(1)
    stopping = true
    say('hutch: stopping; sandboxes run on')
    host.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  // Not `once`: execa ends the process by the signal, while it has a child, when it finds itself the only listener left.
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
}

run().catch(error => {
  process.stderr.write(`hutch: ${messageOf(error)}\n`)
  process.exit(1)
})
