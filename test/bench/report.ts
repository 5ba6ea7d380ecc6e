/** What a benchmark measured, and whether it is what we hold ourselves to. */
import { targets, type Target } from './targets.ts'

/** One figure. Smaller is better unless the unit is a rate. */
export interface Row {
  /** Dotted: `store.list.first-page`. */
  readonly name: string
  readonly value: number
  /** `ms`, `MB`, `req/s`, … */
  readonly unit: string
  /** What the same box did in the same run without us, in the same unit; null when there is no rival. */
  readonly floor: number | null
  /** value / floor. */
  readonly ratio: number | null
}

/** A figure that could not be measured, and why. */
export interface Skipped {
  readonly name: string
  readonly skipped: string
}

const short = (value: number): number => Number(value.toPrecision(4))

export const row = (name: string, value: number, unit: string, floor: number | null = null): Row => ({
  name,
  value: short(value),
  unit,
  floor: floor === null ? null : short(floor),
  ratio: floor === null ? null : short(value / floor),
})

/** Value below which `part` (0 to 1) of the samples lie. */
export const percentile = (samples: readonly number[], part: number): number => {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** Whether the figure keeps every bound of its target; undefined when a bound needs a rival that was not there. */
export const meets = ({ value, ratio }: Row, { most, least, mostRatio, leastRatio }: Target): boolean | undefined => {
  if (most !== undefined && value > most) return false
  if (least !== undefined && value < least) return false
  if (mostRatio === undefined && leastRatio === undefined) return true
  if (ratio === null) return undefined
  return ratio <= (mostRatio ?? Infinity) && ratio >= (leastRatio ?? 0)
}

/** A target in words: `≤ 120 ms, ≤ 3×`. */
export const wordsOf = ({ most, least, mostRatio, leastRatio }: Target, unit: string): string =>
  [
    most === undefined ? '' : `≤ ${most} ${unit}`,
    least === undefined ? '' : `≥ ${least} ${unit}`,
    mostRatio === undefined ? '' : `≤ ${mostRatio}×`,
    leastRatio === undefined ? '' : `≥ ${leastRatio}×`,
  ]
    .filter(Boolean)
    .join(', ')

const cells = (one: Row): string[] => {
  const target = targets[one.name]
  const met = target && meets(one, target)
  return [
    one.name,
    String(one.value),
    one.unit,
    one.floor === null ? '' : String(one.floor),
    one.ratio === null ? '' : `${one.ratio}×`,
    target ? wordsOf(target, one.unit) : '',
    !target ? '' : met === undefined ? 'no rival' : met ? 'met' : 'MISSED',
  ]
}

const heading = ['', 'value', 'unit', 'floor', 'ratio', 'target', '']
const toTheRight = [1, 3, 4]

/** A table for people, with a line for each figure that is missing. */
export const table = (rows: readonly Row[], skipped: readonly Skipped[] = []): string[] => {
  const lines = [heading, ...rows.map(cells)]
  const widths = heading.map((_, column) => Math.max(...lines.map(line => (line[column] as string).length)))
  return [
    ...lines.map(line =>
      line
        .map((cell, column) =>
          toTheRight.includes(column) ? cell.padStart(widths[column] as number) : cell.padEnd(widths[column] as number),
        )
        .join('  ')
        .trimEnd(),
    ),
    ...skipped.map(one => `not measured: ${one.name} (${one.skipped})`),
  ]
}

/** One JSON object a figure, and one a figure that is missing. */
export const jsonLines = (rows: readonly Row[], skipped: readonly Skipped[] = []): string[] =>
  [...rows, ...skipped].map(one => JSON.stringify(one))
