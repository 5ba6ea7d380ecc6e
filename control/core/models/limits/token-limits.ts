/**
 * Keeps models within their token policies. A call reserves what it is expected to use when it starts and settles what it has used when it
 * ends: the call that crosses a threshold completes, later ones are refused. Of several policies one that lets it in is enough.
 */
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Store } from '../../store/store.ts'
import type { TokenPolicy } from './policy.ts'
import { reaches, sliceOf, Window, type Tokens } from './window.ts'

/** Tokens of an answer of which nothing is known yet. */
const firstGuess = 256

/** How much the last answer counts in what the next one is expected to be. */
const weight = 0.2

export interface Wanted {
  /** Estimated. */
  readonly input: number
  /** The most that the request allows; undefined where it does not say. */
  readonly mostOutput: number | undefined
}

export interface Reservation {
  settle(used: Tokens): void
}

interface Deps {
  readonly store: Pick<Store, 'modelUsage'>
  readonly clock: Pick<Clock, 'now'>
  /** Writes down what is known, so that the store has it. */
  readonly flush: () => Promise<void>
}

const idOf = ({ name, windowMs, input, output, total, ratio }: TokenPolicy): string =>
  JSON.stringify([name, windowMs, input, output, total, ratio])

/** Of one model. */
class Ledger {
  readonly #uid: string
  readonly #deps: Deps
  readonly #windows = new Map<string, Promise<Window>>()
  #reserved: Tokens = { input: 0, output: 0 }
  /** Tokens of an answer, on average. */
  #usual = firstGuess

  constructor(uid: string, deps: Deps) {
    this.#uid = uid
    this.#deps = deps
  }

  async reserve(name: string, policies: readonly TokenPolicy[], wanted: Wanted): Promise<Reservation> {
    const windows = await this.#windowsOf(policies)
    const now = this.#deps.clock.now()
    const isOpen = policies.some((policy, at) => {
      const { input, output } = (windows[at] as Window).sums(now)
      return !reaches({ input: input + this.#reserved.input, output: output + this.#reserved.output }, policy)
    })
    if (!isOpen)
      throw fail('tokens_spent', {
        name,
        policies: policies.map(policy => `policy "${policy.name}"`).join(', '),
        retryAfterS: Math.min(...windows.map(window => window.retryAfterS(now))),
      })
    return this.#reservation({
      // At least 1 of each: of many that come at once, those behind a threshold see those before it.
      input: Math.max(1, wanted.input),
      output: Math.max(1, Math.min(wanted.mostOutput ?? Infinity, Math.ceil(this.#usual))),
    })
  }

  #reservation({ input, output }: Tokens): Reservation {
    this.#reserved = { input: this.#reserved.input + input, output: this.#reserved.output + output }
    return {
      settle: used => {
        this.#reserved = { input: this.#reserved.input - input, output: this.#reserved.output - output }
        if (used.output > 0) this.#usual += (used.output - this.#usual) * weight
        // Of a policy that was changed meanwhile, the new window.
        for (const window of this.#windows.values())
          window
            .then(one => one.add(used, this.#deps.clock.now()))
            .catch(() => {
              // It was never known: the next look finds what was written down.
            })
      },
    }
  }

  #windowsOf(policies: readonly TokenPolicy[]): Promise<Window[]> {
    const wanted = new Map(policies.map(policy => [idOf(policy), policy]))
    for (const id of this.#windows.keys()) if (!wanted.has(id)) this.#windows.delete(id)
    return Promise.all([...wanted].map(([id, policy]) => this.#windows.get(id) ?? this.#open(id, policy)))
  }

  #open(id: string, policy: TokenPolicy): Promise<Window> {
    const { store, clock, flush } = this.#deps
    const from = clock.now() - policy.windowMs
    const window = flush()
      .then(() => store.modelUsage.tokens(this.#uid, from, sliceOf(policy)))
      .then(before => new Window(policy, before))
    this.#windows.set(id, window)
    window.catch(() => this.#windows.delete(id))
    return window
  }
}

export interface TokenLimits {
  /** Throws `tokens_spent`. */
  reserve(
    model: { readonly uid: string; readonly name: string; readonly policies: readonly TokenPolicy[] },
    wanted: Wanted,
  ): Promise<Reservation>
}

const nothing: Reservation = { settle: () => {} }

export const createTokenLimits = (deps: Deps): TokenLimits => {
  const ledgers = new Map<string, Ledger>()
  return {
    async reserve({ uid, name, policies }, wanted) {
      if (policies.length === 0) return nothing
      const ledger = ledgers.get(uid) ?? new Ledger(uid, deps)
      ledgers.set(uid, ledger)
      return ledger.reserve(name, policies, wanted)
    },
  }
}
