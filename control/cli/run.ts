/** `hutch run`: configuration, the host, a socket, signals. */
import { join } from 'node:path'
import { systemClock, type Clock } from '../../shared/clock.ts'
import { randomIds } from '../../shared/ids.ts'
import { command } from '../../shared/installation.ts'
import { jsonLog, type Log } from '../../shared/log.ts'
import { isLoopback } from '../../shared/loopback.ts'
import { loadConfig, type Config } from '../base/config.ts'
import { speaksTls } from '../base/config/tls.ts'
import { adminLink } from '../server/access/identity/admin-link.ts'
import { createHost, type Host } from '../host/host.ts'
import { isKnown } from '../core/images/default.ts'
import { authority, checkAddress } from '../base/listening.ts'
import { createLastNet, type LastNet } from '../base/last-net.ts'
import { createCollector } from '../base/memory/collector.ts'
import { tidyMemory } from '../base/memory/tidy.ts'
import { readableLine } from '../base/readable-log.ts'
import type { Invocation } from './command.ts'
import { allSaid, isAllSaid } from './last-words.ts'
import { stopRules, stopSignals, type StopSignal } from './stop-rules.ts'

const logOf = ({ logLevel, logFormat }: Config, clock: Clock): Log => {
  const { isTTY } = process.stderr
  const readable = logFormat === 'text' || (logFormat === 'auto' && isTTY)
  const colour = isTTY && process.stderr.hasColors()
  const write = (line: string) => void process.stderr.write(readable ? readableLine(line, { colour }) : line)
  return jsonLog({ level: logLevel, now: clock.now, write })
}

interface Stop {
  /** Whether somebody has asked the server to stop. */
  asked: boolean
  /** Resolves when somebody does. */
  readonly first: Promise<void>
}

/** Listens to signals from now on. A forced end ends the process at once. */
const watchStops = (clock: Clock, say: Invocation['say']): Stop => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop: Stop = { asked: false, first: promise }
  const decide = stopRules(() => clock.elapsed())
  const on = (signal: StopSignal) => {
    const decision = decide(signal)
    if (decision === 'stop') {
      say('hutch: stopping; sandboxes run on')
      stop.asked = true
      resolve()
    }
    if (decision === 'force') {
      say('hutch: forced to end at once; what is left on this machine by that, the next start removes')
      process.exit(130)
    }
  }
  // Not `once`: execa ends the process by the signal, while it has a child, when it finds itself the only listener left.
  for (const signal of stopSignals) process.on(signal, () => on(signal))
  return stop
}

/** For a reader of the log that is slow. */
const lastWordsMs = 1_000

/** Nobody knows the state of a server with an exception that is not one connection's: it ends, and the unit starts it again. */
const watchExceptions = (log: Log, clock: Clock): LastNet => {
  const lastNet = createLastNet()
  const end = () => process.exit(1)
  process.on('uncaughtException', error => {
    if (lastNet.caught(error)) return
    log.error('server.threw', { error, next: 'it ends, and sandboxes run on; systemd starts it again' })
    if (isAllSaid([process.stderr])) end()
    // Why it ended is worth a moment, in which it serves on.
    clock.after(lastWordsMs, end)
    void allSaid([process.stderr]).then(end)
  })
  return lastNet
}

const announce = async (host: Host, config: Config, say: Invocation['say']): Promise<void> => {
  const isBaseHere = await isKnown(host.images, 'base')
  const { url, port } = await host.listen()
  const keyFile = join(config.dataDir, 'admin-key')
  say(`hutch: serving on ${url} with driver ${host.drivers.preferred.name}; data in ${config.dataDir}`)
  if (!isLoopback(config.host) && !speaksTls(config.tls)) {
    say(
      `hutch: whoever reaches ${authority({ host: config.host, port })} may call it. Every call needs a key, and keys`,
    )
    say(
      '  travel unencrypted: set HUTCH_TLS_CERT and HUTCH_TLS_KEY, or put a proxy with TLS in front and its address into HUTCH_PUBLIC_URL',
    )
  }
  if (!isBaseHere)
    say(
      `hutch: the image base is not built; ${command('image base')} does it. Sandboxes that name no image get busybox`,
    )
  say(`hutch: the admin key is in ${keyFile}; try`)
  say(`  curl -s -H "Authorization: Bearer $(cat ${keyFile})" ${url}/v0/sandboxes`)
  if (!(await host.store.identity.hasPeople())) {
    say('hutch: nobody can sign in yet. This address makes an admin, once and within a day:')
    say(`  ${await adminLink({ store: host.store, clock: systemClock(), ids: randomIds() }, url, host.first.account)}`)
  }
}

/** So that a first create, and a second beside it, need not wait for a machine to start; some 30 MB. */
const genericUnasked = 2

/** Serves until it is stopped. Throws what says which part is missing and what to do. */
export const run = async ({ env, cwd, say }: Invocation): Promise<number> => {
  const clock = systemClock()
  const config = loadConfig(env, cwd)
  await checkAddress(config)
  const { host: name, tls } = config
  if (tls.httpPort !== undefined) await checkAddress({ host: name, port: tls.httpPort })
  const stop = watchStops(clock, say)
  const log = logOf(config, clock)
  const host = await createHost(config, {
    clock,
    ids: randomIds(),
    log,
    lastNet: watchExceptions(log, clock),
    ...(env['HUTCH_WARM'] === undefined ? { genericMachines: genericUnasked } : {}),
  })
  const stopTidying = tidyMemory(createCollector(), { clock, log })
  try {
    if (!stop.asked) await announce(host, config, say)
    await stop.first
  } finally {
    stopTidying()
    const cancel = clock.after(3_000, () => say('hutch: still stopping; Ctrl-C forces it'))
    await host.close()
    cancel()
  }
  return 0
}
