/**
 * A whole control plane on a socket, in a process of its own, with machines that are only an address: what the front
 * door costs, without what is behind it. Arguments: data directory, port of what answers for the machines, and where TLS is spoken, what
 * the names of its certificate and key begin with.
 */
import { loadConfig } from '../../control/base/config.ts'
import { fakeDriver } from '../../control/drivers/fake/index.ts'
import { createHost } from '../../control/host/host.ts'
import { systemClock } from '../../shared/clock.ts'
import { randomIds } from '../../shared/ids.ts'
import { jsonLog } from '../../shared/log.ts'

export interface StandInSaid {
  readonly port: number
  readonly key: string
}

const [dataDir = '', port, stem] = process.argv.slice(2)
const repository = new URL('../..', import.meta.url).pathname
const clock = systemClock()
const tls = stem ? { HUTCH_TLS_CERT: `${stem}.crt`, HUTCH_TLS_KEY: `${stem}.key` } : {}
const config = { ...loadConfig(tls, repository), dataDir, port: 0, driver: 'fake', standbyAfterMs: 3_600_000 }
const host = await createHost(config, {
  clock,
  ids: randomIds(),
  // As in production: one line a request is written, to where it costs the least.
  log: jsonLog({ level: 'info', now: clock.now, write: () => {} }),
  drivers: [fakeDriver({ serve: async () => ({ host: '127.0.0.1', port: Number(port), close: () => {} }) })],
})
const listening = await host.listen()
const said: StandInSaid = { port: listening.port, key: host.first.adminKey }
process.send?.(said)
const stop = () => void host.close().then(() => process.exit(0))
process.once('SIGTERM', stop)
process.once('disconnect', stop)
