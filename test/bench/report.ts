/** What a benchmark measured. Smaller is better unless the unit is a rate. */
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

const short = (value: number): number => Number(value.toPrecision(4))

export const row = (name: string, value: number, unit: string, floor: number | null = null): Row => ({
  name,
  value: short(value),
  unit,
  floor: floor === null ? null : short(floor),
  ratio: floor === null ? null : short(value / floor),
})

/** Value below which `part` (0 to 1) of the sorted samples lie. */
export const percentile = (samples: readonly number[], part: number): number => {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** One line a row: text in columns, or JSON. */
export const report = (rows: readonly Row[], options: { json: boolean; write: (line: string) => void }): void => {
  const { json, write } = options
  const width = Math.max(0, ...rows.map(({ name }) => name.length))
  for (const one of rows) {
    const against = one.floor === null ? '' : `floor ${one.floor} ${one.unit}, ratio ${one.ratio}`
    write(
      json
        ? JSON.stringify(one)
        : `${one.name.padEnd(width)}  ${String(one.value).padStart(9)} ${one.unit}  ${against}`.trimEnd(),
    )
  }
}
