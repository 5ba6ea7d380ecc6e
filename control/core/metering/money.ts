import { partsPerUnit } from '../store/amounts.ts'

/**
 * What a report shows is rounded once, in its cells (one group in one bucket): cost to 10⁻¹² USD, usage to 10⁻⁹ of a
 * unit. Every sum above is the exact sum of the cells shown, so that a reader who adds them up gets the same figure.
 */
const costDecimals = 12
const usageDecimals = 9

/** A price as an exact fraction: the decimal number as it is written, not its binary neighbour. */
export interface Price {
  readonly numerator: bigint
  readonly denominator: bigint
}

const free: Price = { numerator: 0n, denominator: 1n }

/** USD per unit as written: `1.15e-5` is 115 / 10⁷. */
export const priceOf = (usd: number): Price => {
  const [mantissa = '0', exponent = '0'] = String(usd).split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const scale = Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  return scale >= 0
    ? { numerator: digits * 10n ** BigInt(scale), denominator: 1n }
    : { numerator: digits, denominator: 10n ** BigInt(-scale) }
}

/** Prices by billing dimension; a dimension without a price costs nothing. */
export const priceList = (prices: Readonly<Record<string, number>>) => {
  const list = new Map(Object.entries(prices).map(([dimension, usd]) => [dimension, priceOf(usd)]))
  return (dimension: string): Price => list.get(dimension) ?? free
}

const rounded = (numerator: bigint, denominator: bigint, decimals: number): bigint =>
  (numerator * 10n ** BigInt(decimals) * 2n + denominator) / (denominator * 2n)

/** Cost of an exact usage, in 10⁻¹² USD. */
export const costOf = (parts: bigint, price: Price): bigint =>
  rounded(parts * price.numerator, partsPerUnit * price.denominator, costDecimals)

/** An exact usage in 10⁻⁹ of a unit. */
export const shownUsage = (parts: bigint): bigint => rounded(parts, partsPerUnit, usageDecimals)

const decimal = (amount: bigint, decimals: number): number => {
  const digits = amount.toString().padStart(decimals + 1, '0')
  return Number(`${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`)
}

export const toUsd = (cost: bigint): number => decimal(cost, costDecimals)
export const toUsageNumber = (usage: bigint): number => decimal(usage, usageDecimals)
