/**
 * Exact amounts. A quantity is rounded once, when it is recorded, to 1/1 152 000 of a unit; from there on everything
 * is an integer (quanta × milliseconds), so that a sum always equals the sum of its parts, however they are grouped.
 *
 * 1 152 000 is the least common multiple of 1024 (MiB of a GiB), 1000 (MB of a GB) and 3600 (seconds of an hour):
 * memory sizes and hour-based dimensions lose nothing in the rounding.
 */
import { fail } from '../../../shared/errors.ts'

const quantaPerUnit = 1_152_000

/** Exact usage is counted in this many parts of a unit-second (or of a single count). */
export const partsPerUnit = BigInt(quantaPerUnit) * 1000n

/** An hour of this many units still fits 63 bits: a petabyte. */
const largest = 1_048_576

/** Units as stored; throws `invalid_argument` for what is not between 0 and 2²⁰ units. */
export const toQuanta = (units: number): number => {
  // Also refuses NaN.
  if (!(units >= 0 && units <= largest))
    throw fail('invalid_argument', { field: 'quantity', reason: `must be between 0 and ${largest}` })
  return Math.round(units * quantaPerUnit)
}

export const fromQuanta = (quanta: number): number => quanta / quantaPerUnit

/** The nearest number to `numerator / denominator`. Exact integer part, so that large amounts keep their cents. */
const ratio = (numerator: bigint, denominator: bigint): number => {
  const whole = numerator / denominator
  const rest = numerator - whole * denominator
  return Number(whole) + Number(rest) / Number(denominator)
}

export const toUnits = (parts: bigint): number => ratio(parts, partsPerUnit)
