/**
 * Who asks, as far as it can be found out: which process of the sandbox a connection is of. It is looked for while the connection
 * is decided about, and holds nothing up: an event has it when it was found before the event is kept.
 */
import type { Socket } from 'node:net'
import type { Log } from '../../../shared/log.ts'
import type { Said } from './events/events.ts'
import { maskSaid } from './events/said.ts'
import { createRate, type Rate } from './rate.ts'
import type { Tenant } from './tenant.ts'

interface Found {
  readonly pid?: number | undefined
  readonly process: string
  /** Its arguments, the program first. */
  readonly words: readonly string[]
}

/** Finds the process at that end of a connection. Its command line is what the process says of itself. */
export type ProcessAt = (address: string, port: number) => Promise<Found | undefined>

export interface Askers {
  /** Begins to look. */
  look(tenant: Tenant, socket: Socket): void
  of(socket: Socket): Said | undefined
}

/** A look costs a millisecond: of many connections at once some stay without. */
const looks = { burst: 20, perSecond: 10 } as const
const mostAtOnce = 4
/** One costs a hundred where a sandbox has thousands of descriptors: after more than this, ms, the next waits so many times as long. */
const dear = { ms: 20, times: 20 } as const

/** What a sandbox may have looked for. */
interface Turns {
  readonly rate: Rate
  looking: number
  notBefore: number
}

export const createAskers = (
  processAt: ProcessAt | undefined,
  { now, log }: { now: () => number; log: Log },
): Askers => {
  const found = new WeakMap<Socket, Said>()
  const turns = new WeakMap<Tenant, Turns>()
  const turnsOf = (tenant: Tenant): Turns => {
    const known = turns.get(tenant)
    if (known) return known
    const made = { rate: createRate({ now }, looks.burst, looks.perSecond), looking: 0, notBefore: 0 }
    turns.set(tenant, made)
    return made
  }
  return {
    of: socket => found.get(socket),
    look(tenant, socket) {
      const { remoteAddress, remotePort } = socket
      if (!processAt || remoteAddress === undefined || remotePort === undefined) return
      const turn = turnsOf(tenant)
      const begun = now()
      if (turn.looking >= mostAtOnce || begun < turn.notBefore || !turn.rate.take()) return
      turn.looking++
      const said: Said = {}
      found.set(socket, said)
      processAt(remoteAddress, remotePort)
        .then(process => void Object.assign(said, process && maskSaid(tenant.mask, process)))
        .catch(error => log.debug('egress.asker.unknown', { error }))
        .finally(() => {
          turn.looking--
          const ended = now()
          if (ended - begun > dear.ms) turn.notBefore = ended + dear.times * (ended - begun)
        })
    },
  }
}
