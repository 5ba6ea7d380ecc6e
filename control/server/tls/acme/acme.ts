/**
 * Certificates from an authority: those of the operator's names ahead of need, others with the first handshake that asks for them.
 * Whoever can send a handshake could have any number ordered; so only for names that are served, few at a time, few an hour.
 */
import { join } from 'node:path'
import type { Clock } from '../../../../shared/clock.ts'
import { messageOf } from '../../../../shared/errors.ts'
import { findIn } from '../certificates.ts'
import type { Pair } from '../pairs.ts'
import { orderCertificate, type OrderDeps, type Ordered } from './order.ts'
import { openStored, type Stored } from './stored.ts'

export interface Acme {
  /** The one for a host name, ordered now when there is none and the name is served; undefined when there is none in time. */
  certificateFor(name: string): Promise<Pair | undefined>
  /** For clients that name no host. */
  first(): Pair | undefined
  /** The listeners are there that the authority comes by: orders what is missing, and renews from now on. */
  begin(): void
  close(): void
}

export interface AcmeDeps extends Omit<OrderDeps, 'dir'> {
  readonly dataDir: string
  readonly clock: Clock
  /** Names that are the operator's own, `*.` in front of those for all below. */
  readonly own: readonly string[]
  /** Whether something is served by a name now. */
  readonly isServed: (name: string) => Promise<boolean>
  /** There is a certificate that was not there. */
  readonly changed: () => void
  /** For tests. */
  readonly order?: (name: string, deps: OrderDeps) => Promise<Ordered>
}

/** A handshake waits so long for a new certificate. */
const patienceMs = 20_000
const hourMs = 3_600_000
const lookMs = 60_000
/** New names in an hour, beyond the operator's own. */
const namesInHour = 20
const atOnce = 2
const firstPauseMs = 60_000
const longestPauseMs = 12 * hourMs
/** What is left of its time when it is renewed. */
const renewalPart = 1 / 3

interface State {
  /** Under way, by name. */
  readonly orders: Map<string, Promise<Pair | undefined>>
  /** By name, until when it is not tried again, and how long the next pause is. */
  readonly pauses: Map<string, { readonly until: number; readonly nextMs: number }>
  /** When names were ordered for the first time, within an hour. */
  ordered: number[]
}

interface Context extends AcmeDeps {
  readonly stored: Stored
  readonly state: State
  readonly dir: string
}

const pause = ({ state: { pauses }, clock }: Context, name: string): void => {
  const { nextMs = firstPauseMs } = pauses.get(name) ?? {}
  pauses.set(name, { until: clock.now() + nextMs, nextMs: Math.min(nextMs * 2, longestPauseMs) })
}

const order = async (context: Context, name: string): Promise<Pair | undefined> => {
  const { stored, state, log, order: make = orderCertificate } = context
  try {
    await stored.keep(name, await make(name, context))
    state.pauses.delete(name)
    context.changed()
    log.info('acme.certificate', { name, notAfter: stored.pairs.get(name)?.notAfter })
    return stored.pairs.get(name)
  } catch (error) {
    pause(context, name)
    log.error('acme.failed', { name, reason: messageOf(error), error })
    return undefined
  } finally {
    state.orders.delete(name)
  }
}

const isPaused = ({ state, clock }: Context, name: string): boolean =>
  (state.pauses.get(name)?.until ?? 0) > clock.now()

/** Ordered once, however many ask. */
const begin = (context: Context, name: string): Promise<Pair | undefined> | undefined => {
  const { orders } = context.state
  const underWay = orders.get(name)
  if (underWay) return underWay
  if (orders.size >= atOnce || isPaused(context, name)) return undefined
  const begun = order(context, name)
  orders.set(name, begun)
  return begun
}

const mayOrderNew = ({ state, clock, log }: Context, name: string): boolean => {
  state.ordered = state.ordered.filter(at => at > clock.now() - hourMs)
  if (state.ordered.length < namesInHour) return true
  log.warn('acme.too_many', { name, inHour: namesInHour })
  return false
}

const obtain = async (context: Context, name: string): Promise<Pair | undefined> => {
  const { state, clock, isServed } = context
  const isNew = !state.orders.has(name)
  if (isNew && (isPaused(context, name) || !(await isServed(name)))) return undefined
  // Another handshake may have asked meanwhile.
  if (state.orders.has(name)) return begin(context, name)
  if (state.orders.size >= atOnce || !mayOrderNew(context, name)) return undefined
  state.ordered.push(clock.now())
  return begin(context, name)
}

const inTime = async <T>({ clock }: Context, work: Promise<T>): Promise<T | undefined> => {
  let stop: (() => void) | undefined
  const late = new Promise<undefined>(resolve => {
    stop = clock.after(patienceMs, () => resolve(undefined))
  })
  return Promise.race([work, late]).finally(() => stop?.())
}

const endsSoon = (cert: Pair, now: number): boolean =>
  cert.notAfter - now < (cert.notAfter - cert.notBefore) * renewalPart

/** Orders the operator's own names, and what ends soon and is still served. */
const look = async (context: Context): Promise<void> => {
  const { own, stored, clock, isServed } = context
  for (const name of own) if (!stored.pairs.has(name)) await begin(context, name)
  for (const [name, pair] of stored.pairs) {
    if (!endsSoon(pair, clock.now())) continue
    if (own.includes(name) || (await isServed(name))) await begin(context, name)
    else if (pair.notAfter < clock.now()) await stored.remove(name)
  }
}

const plainName = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/

export const openAcme = async (deps: AcmeDeps): Promise<Acme> => {
  const { log, clock } = deps
  const dir = join(deps.dataDir, 'acme')
  const stored = await openStored(dir, deps)
  const context: Context = { ...deps, dir, stored, state: { orders: new Map(), pauses: new Map(), ordered: [] } }
  const lookAgain = () => void look(context).catch((error: unknown) => log.error('acme.look_failed', { error }))
  const stops: (() => void)[] = []
  return {
    async certificateFor(given) {
      const name = given.toLowerCase()
      const found = findIn(stored.pairs.values(), name)
      if (found && found.notAfter > clock.now()) return found
      return plainName.test(name) ? inTime(context, obtain(context, name)) : undefined
    },
    first: () => deps.own.map(name => stored.pairs.get(name)).find(pair => pair !== undefined),
    begin() {
      lookAgain()
      stops.push(clock.every(lookMs, lookAgain))
    },
    close: () => stops.forEach(stop => stop()),
  }
}
