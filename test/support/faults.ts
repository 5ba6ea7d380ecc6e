/**
 * Faults by number: everything a host does outside its own memory passes a gate that counts, and the n-th pass is where it stops for
 * ever, before or after it took effect, or where it fails once.
 */
import type { Driver, Freezer, Claimer } from '../../control/drivers/driver.ts'
import type { Clock } from '../../shared/clock.ts'

export interface Fault {
  /** `before` and `after`: the host is no more; what it was about to do is not done, or is. `fails`: it fails, once. */
  readonly kind: 'before' | 'after' | 'fails'
  readonly at: number
}

export interface Gate {
  /** Counts from now on, and strikes. */
  arm(fault?: Fault): void
  /** What has passed since, by name. */
  readonly passed: readonly string[]
  readonly isDead: boolean
  /** Resolves when the host is no more. */
  readonly dead: Promise<void>
  pass<T>(what: string, run: () => Promise<T>): Promise<T>
}

const never = new Promise<never>(() => {})

export const gate = (): Gate => {
  const died = Promise.withResolvers<void>()
  const passed: string[] = []
  let armed = false
  let fault: Fault | undefined
  let isDead = false
  const die = (): Promise<never> => {
    isDead = true
    died.resolve()
    return never
  }
  return {
    arm(next) {
      armed = true
      fault = next
      passed.length = 0
    },
    passed,
    get isDead() {
      return isDead
    },
    dead: died.promise,
    async pass(what, run) {
      // Nobody is there any more to do it.
      if (isDead) return never
      if (!armed) return run()
      passed.push(what)
      const struck = fault && passed.length === fault.at ? fault.kind : undefined
      if (struck === 'before') return die()
      if (struck === 'fails') throw new Error(`the fault at call ${passed.length}, ${what}`)
      const result = await run()
      return struck === 'after' || isDead ? die() : result
    },
  }
}

const gatedFreezer = ({ pass }: Gate, freezer: Freezer): Freezer => ({
  freeze: id => pass('freeze', () => freezer.freeze(id)),
  thaw: id => pass('thaw', () => freezer.thaw(id)),
})

const gatedClaimer = ({ pass }: Gate, claimer: Claimer): Claimer => ({
  claim: (spec, tell) => pass('claim', () => claimer.claim(spec, machine => pass('tell', () => tell(machine)))),
})

/** Every verb of the driver passes the gate. */
export const gatedDriver = (through: Gate, driver: Driver): Driver => {
  const { pass } = through
  const { freezer, claimer } = driver
  return {
    ...driver,
    create: (spec, signal, onRising) => pass('create', () => driver.create(spec, signal, onRising)),
    list: signal => pass('list', () => driver.list(signal)),
    end: (id, signal) => pass('end', () => driver.end(id, signal)),
    remove: (id, signal) => pass('remove', () => driver.remove(id, signal)),
    stats: id => pass('stats', () => driver.stats(id)),
    ...(freezer ? { freezer: gatedFreezer(through, freezer) } : {}),
    ...(claimer ? { claimer: gatedClaimer(through, claimer) } : {}),
  }
}

/** A clock that stops with its host. */
export const mortalClock = (clock: Clock, { isDead }: { readonly isDead: () => boolean }): Clock => {
  const unlessDead = (run: () => void) => () => {
    if (!isDead()) run()
  }
  return {
    ...clock,
    every: (ms, run) => clock.every(ms, unlessDead(run)),
    after: (ms, run) => clock.after(ms, unlessDead(run)),
  }
}
