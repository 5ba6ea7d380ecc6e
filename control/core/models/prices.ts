/** What a provider takes for its tokens: a dated table in a file that the operator edits (`catalogues/model-prices.json`). */
import { messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Usage } from './usage.ts'

export interface Priced {
  readonly provider: string
  readonly model: string
  /** When the call came in, epoch ms. */
  readonly time: number
}

export interface Prices {
  /** Billionths of a dollar; null where no price is known. */
  costOf(of: Priced, usage: Pick<Usage, 'input' | 'output' | 'cached'>): Promise<number | null>
}

/** A line of the table: what is paid for a million tokens from a day on. */
export interface Price {
  readonly provider: string
  /** A name, or a beginning that ends with a star. */
  readonly model: string
  /** A day: `2026-04-28`. */
  readonly from: string
  readonly input: number
  readonly output: number
  readonly cachedInput?: number | undefined
}

/** A name, or a beginning that ends with a star. */
const fits = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern

/** A whole name counts before a beginning, and a long one before a short one. */
const weightOf = ({ model }: Price): number => (model.endsWith('*') ? model.length : Infinity)

const order = (a: number, b: number): number => (a === b ? 0 : b > a ? 1 : -1)

/** The newest price that held by then; of those a name before a beginning of one. */
const priceAt = (prices: readonly Price[], { provider, model, time }: Priced): Price | undefined =>
  prices
    .filter(price => price.provider === provider && fits(price.model, model) && Date.parse(price.from) <= time)
    .toSorted((a, b) => order(weightOf(a), weightOf(b)) || Date.parse(b.from) - Date.parse(a.from))[0]

/** Prices are per million tokens: a token at 1 USD a million costs 1,000 billionths. */
const nanosPerToken = (usdPerMillion: number): number => usdPerMillion * 1000

const costNanos = (price: Price, { input, output, cached }: Pick<Usage, 'input' | 'output' | 'cached'>): number =>
  Math.round(
    (input - cached) * nanosPerToken(price.input) +
      cached * nanosPerToken(price.cachedInput ?? price.input) +
      output * nanosPerToken(price.output),
  )

export const createPrices = ({
  table,
  log,
}: {
  readonly table: () => Promise<readonly Price[]>
  readonly log: Log
}): Prices => ({
  async costOf(of, usage) {
    try {
      const price = priceAt(await table(), of)
      return price ? costNanos(price, usage) : null
    } catch (error) {
      // The catalogue says in the log what is wrong with the file; the call was made all the same.
      log.debug('models.prices', { reason: messageOf(error) })
      return null
    }
  },
})
