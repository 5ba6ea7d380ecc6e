/** How a window is put together from what the rollups have: months, days and hours, and pieces of hours at its ends. */
import type { Grain } from './tables.ts'

export const hourMs = 3_600_000
const dayMs = 24 * hourMs

export interface Range {
  readonly from: number
  /** Exclusive. */
  readonly to: number
  /** The largest grain that fills the range, or `part` of a single hour. */
  readonly grain: Grain | 'part'
}

const floor = (time: number, size: number): number => Math.floor(time / size) * size
const ceil = (time: number, size: number): number => Math.ceil(time / size) * size

const monthStart = (time: number, plus: number): number => {
  const date = new Date(time)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + plus, 1)
}

const floorMonth = (time: number): number => monthStart(time, 0)
const ceilMonth = (time: number): number => (floorMonth(time) === time ? time : monthStart(time, 1))

interface Level {
  readonly grain: Grain | 'part'
  up(time: number): number
  down(time: number): number
}

const levels: readonly Level[] = [
  { grain: 2, up: ceilMonth, down: floorMonth },
  { grain: 1, up: time => ceil(time, dayMs), down: time => floor(time, dayMs) },
  { grain: 0, up: time => ceil(time, hourMs), down: time => floor(time, hourMs) },
]

/** The fewest ranges that make up [from, to), in order. */
export const rangesOf = (from: number, to: number, level = 0): Range[] => {
  if (from >= to) return []
  const at = levels[level]
  if (!at) return [{ from, to, grain: 'part' }]
  const first = at.up(from)
  const last = at.down(to)
  if (first >= last) {
    // No whole one fits; at the level of hours the window may still reach over one hour's start.
    if (at.grain === 0 && first > from && first < to)
      return [
        { from, to: first, grain: 'part' },
        { from: first, to, grain: 'part' },
      ]
    return rangesOf(from, to, level + 1)
  }
  return [
    ...rangesOf(from, first, level + 1),
    { from: first, to: last, grain: at.grain },
    ...rangesOf(last, to, level + 1),
  ]
}
