import { closest } from '../../../shared/closest.ts'
import { billingDimensions } from '../dimensions.ts'
import { listOf, refuse, type Environment } from './values.ts'

/** Round figures of the market in 2026, so that a demo's bill is not all zeros; operators set their own. */
const defaults: Readonly<Record<string, number>> = {
  sandbox_compute_runtime_gbs: 0.0000115,
  sandbox_snapshot_storage_gbs: 0.00000007,
}

/** USD per unit of each dimension: the defaults, and `HUTCH_PRICES` (`dimension=usd,…`) over them. */
export const pricesFrom = (env: Environment): Readonly<Record<string, number>> => {
  const prices: Record<string, number> = { ...defaults }
  const given = new Set<string>()
  const known = Object.keys(billingDimensions)
  for (const part of listOf(env, 'HUTCH_PRICES')) {
    const [, dimension = '', price = ''] = /^([a-z_]+)\s*=\s*(\d{1,9}(?:\.\d{1,18})?(?:e-\d{1,2})?)$/i.exec(part) ?? []
    if (!dimension) throw refuse('HUTCH_PRICES', `"${part}" is not dimension=usd, with usd like 0.0000115 or 1.15e-5`)
    if (!known.includes(dimension)) {
      const near = closest(dimension, known)
      const hint = near ? `did you mean ${near}?` : `there are ${known.join(', ')}`
      throw refuse('HUTCH_PRICES', `"${dimension}" is not a billing dimension; ${hint}`)
    }
    if (given.has(dimension)) throw refuse('HUTCH_PRICES', `"${dimension}" has two prices`)
    given.add(dimension)
    prices[dimension] = Number(price)
  }
  return prices
}
