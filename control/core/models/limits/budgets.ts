/** Dollars that a key may spend in a day and in a month (UTC), from a file that the operator edits (`catalogues/model-budgets.json`). */
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { ApiKey, Store } from '../../store/store.ts'
import type { Prices } from '../prices.ts'
import type { Route } from '../routes.ts'
import type { Wanted } from './token-limits.ts'

const nanosPerUsd = 1e9

/** Tokens of an answer that a request does not limit, or limits to more. */
const guessedOutput = 256

type Period = 'day' | 'month'

/** Begin of the day or month that `now` is in, and of the next one. */
const periodOf = (period: Period, now: number): { from: number; to: number } => {
  const date = new Date(now)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  return period === 'day'
    ? { from: Date.UTC(year, month, day), to: Date.UTC(year, month, day + 1) }
    : { from: Date.UTC(year, month), to: Date.UTC(year, month + 1) }
}

/** What a key may spend; `*` stands for each of those that have no line of their own. */
export interface BudgetLine {
  readonly key: string
  readonly usdPerDay?: number | undefined
  readonly usdPerMonth?: number | undefined
}

interface Deps {
  readonly store: Pick<Store, 'modelUsage'>
  readonly clock: Pick<Clock, 'now'>
  readonly table: () => Promise<readonly BudgetLine[]>
  readonly prices: Prices
  /** Writes down what is known, so that the store has it. */
  readonly flush: () => Promise<void>
}

export interface Spending {
  settle(nanos: number): void
}

type Most = Readonly<Partial<Record<Period, number | undefined>>>

/** What a key has spent since a period began, billionths of a dollar. */
interface Purse {
  spent: number
}

/** Of one key. */
class Ledger {
  readonly #deps: Deps
  readonly #purses = new Map<Period, { readonly from: number; readonly purse: Promise<Purse> }>()
  #reserved = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Throws `budget_spent`. */
  async reserve(key: Pick<ApiKey, 'id' | 'name'>, most: Most, expected: number): Promise<Spending> {
    const periods = (['day', 'month'] as const).filter(period => most[period] !== undefined)
    const purses = await Promise.all(periods.map(period => this.#purseOf(key.id, period)))
    const now = this.#deps.clock.now()
    for (const [at, period] of periods.entries()) {
      const usd = most[period] as number
      if ((purses[at] as Purse).spent + this.#reserved >= usd * nanosPerUsd)
        throw fail('budget_spent', {
          key: key.name,
          usd,
          per: period,
          retryAfterS: Math.max(1, Math.ceil((periodOf(period, now).to - now) / 1000)),
        })
    }
    this.#reserved += expected
    return { settle: nanos => this.#settle(expected, nanos) }
  }

  #settle(expected: number, nanos: number): void {
    this.#reserved -= expected
    for (const { purse } of this.#purses.values())
      purse
        .then(one => {
          one.spent += nanos
        })
        .catch(() => {
          // It was never known: the next look finds what was written down.
        })
  }

  #purseOf(id: string, period: Period): Promise<Purse> {
    const { store, clock, flush } = this.#deps
    const { from } = periodOf(period, clock.now())
    const known = this.#purses.get(period)
    if (known?.from === from) return known.purse
    const purse = flush().then(async () => ({ spent: await store.modelUsage.spent(id, from) }))
    this.#purses.set(period, { from, purse })
    purse.catch(() => this.#purses.delete(period))
    return purse
  }
}

export interface Budget {
  /** Throws `budget_spent`. */
  reserve(route: Route, wanted: Wanted): Promise<Spending>
}

export interface Budgets {
  /** Undefined for a key without one. */
  of(key: ApiKey): Promise<Budget | undefined>
}

export const createBudgets = (deps: Deps): Budgets => {
  const { table, prices, clock } = deps
  const ledgers = new Map<string, Ledger>()
  const expectedOf = async ({ provider, runtime }: Route, { input, mostOutput }: Wanted): Promise<number> => {
    const output = Math.min(mostOutput ?? guessedOutput, guessedOutput)
    const priced = { provider: provider.type, model: runtime.model ?? '', time: clock.now() }
    return (await prices.costOf(priced, { input, output, cached: 0 })) ?? 0
  }
  return {
    async of(key) {
      const entries = await table()
      // By id: whoever makes a key chooses its name.
      const found = entries.find(one => one.key === key.id) ?? entries.find(one => one.key === '*')
      if (!found) return undefined
      const ledger = ledgers.get(key.id) ?? new Ledger(deps)
      ledgers.set(key.id, ledger)
      const most = { day: found.usdPerDay, month: found.usdPerMonth }
      return { reserve: async (route, wanted) => ledger.reserve(key, most, await expectedOf(route, wanted)) }
    },
  }
}
