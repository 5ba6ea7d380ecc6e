/** Whether the server in a machine takes calls: its port accepts a connection within the time it has to start. */
import type { Clock } from '../../../shared/clock.ts'
import { fail, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { getProcess, type Process } from '../../../shared/wire/process.ts'
import { daemonAt } from '../channel/client.ts'
import type { Connections } from '../channel/connections.ts'
import type { Address } from '../store/store.ts'

export interface ReadinessDeps {
  readonly connections: Connections
  readonly clock: Clock
  readonly log: Log
  /** How long a server may take to listen, ms. */
  readonly startupMs: number
}

interface Waiting {
  readonly address: Address
  readonly port: number
  readonly signal: AbortSignal
}

/** A process is answered with the last 64 KiB of each of its outputs, three times over. */
const bounds = { timeoutMs: 2_000, maxBytes: 2 * 1024 * 1024 }

/** Between two tries: a twentieth of the time it took so far, within these. */
const [firstTryMs, lastTryMs] = [20, 500]

/** Between two looks at the process: one that has ended for good listens nowhere. */
const lookMs = 1_000

const kept = { lines: 20, characters: 2_000 } as const

/** The name under which the daemon starts the command of a machine. */
const commandName = 'entrypoint'

const commandOf = async ({ connections, log }: ReadinessDeps, { address }: Waiting): Promise<Process | undefined> => {
  try {
    return await daemonAt(connections, address, 'host', bounds).ask(getProcess, { params: { identifier: commandName } })
  } catch (error) {
    log.debug('workload.unasked', { host: address.host, reason: messageOf(error) })
    return undefined
  }
}

/** Control characters, but for the ends of lines. */
const controls = /[^\P{Cc}\n]/gu

/** The last of what it has printed, as it may be shown, on lines of its own. */
const lastLines = (process: Process | undefined): string => {
  const text = `${process?.stdout ?? ''}${process?.stderr ?? ''}`.replaceAll(controls, '').trimEnd()
  const last = text.split('\n').slice(-kept.lines).join('\n').slice(-kept.characters)
  return last && `\n${last}`
}

const accepts = async ({ connections }: ReadinessDeps, { address, port }: Waiting): Promise<boolean> => {
  try {
    const socket = await connections.open({ address, port }, 'client')
    socket.on('error', () => {}).destroy()
    return true
  } catch {
    // Nothing listens yet; that it never did is said in the end.
    return false
  }
}

/** The daemon starts a command again that failed, for a while; these are over for good when they stay for a look. */
const endedAs = (process: Process | undefined): string | undefined => {
  if (!process || process.status === 'running') return undefined
  if (process.status === 'failed' && process.restartCount < process.maxRestarts) return undefined
  return `its command has ended with exit code ${process.exitCode}`
}

/** Resolves when the port accepts. Throws `startup_failed` with the last lines that the command has printed. */
export const readiness =
  (deps: ReadinessDeps) =>
  async (waiting: Waiting): Promise<void> => {
    const { clock, startupMs } = deps
    const { port, signal } = waiting
    const from = clock.elapsed()
    let lookAt = from + lookMs
    for (;;) {
      if (await accepts(deps, waiting)) return
      signal.throwIfAborted()
      const now = clock.elapsed()
      const isOver = now - from >= startupMs
      if (isOver || now >= lookAt) {
        const process = await commandOf(deps, waiting)
        const reason = isOver ? `not within ${startupMs / 1000} s (DEADLINE_EXCEEDED)` : endedAs(process)
        if (reason !== undefined) {
          const said = `nothing accepts connections on port ${port}: ${reason}${lastLines(process)}`
          throw fail('startup_failed', { reason: said })
        }
        lookAt = now + lookMs
      }
      await clock.sleep(Math.min(lastTryMs, Math.max(firstTryMs, (now - from) / 20)), signal)
    }
  }
