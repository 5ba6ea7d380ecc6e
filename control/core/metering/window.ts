import { fail } from '../../../shared/errors.ts'
import type { Resolution } from '../../../shared/wire/billing.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** [from, to) in epoch milliseconds. */
export interface Window {
  readonly from: number
  readonly to: number
}

const oneYearAfter = (time: number): number => new Date(time).setUTCFullYear(new Date(time).getUTCFullYear() + 1)

/** Whether a window may be asked for at a resolution; the cap itself is allowed. */
const isWithinCap: Readonly<Record<Resolution, (window: Window) => boolean>> = {
  hourly: ({ from, to }) => to - from <= 7 * dayMs,
  daily: ({ from, to }) => to - from <= 90 * dayMs,
  weekly: ({ from, to }) => to <= Math.max(oneYearAfter(from), from + 365 * dayMs),
  monthly: () => true,
}

const capText = { hourly: '7 days', daily: '90 days', weekly: '1 year', monthly: '' } as const

const automatic = ({ from, to }: Window): Resolution => {
  const length = to - from
  if (length < 7 * dayMs) return 'hourly'
  if (length < 90 * dayMs) return 'daily'
  if (to < oneYearAfter(from)) return 'weekly'
  return 'monthly'
}

/** The size of buckets: the one asked for, or one that fits the window. Throws `invalid_argument` above the cap. */
export const resolutionOf = (window: Window, asked: Resolution | undefined): Resolution => {
  const resolution = asked ?? automatic(window)
  if (!isWithinCap[resolution](window))
    throw fail('invalid_argument', {
      field: 'resolution',
      reason: `${resolution} is allowed for windows of at most ${capText[resolution]}`,
    })
  return resolution
}

const floor = (time: number, size: number): number => Math.floor(time / size) * size

// 1970-01-05 was a Monday.
const firstMonday = 4 * dayMs

const steps: Readonly<Record<Resolution, { start(time: number): number; next(start: number): number }>> = {
  hourly: { start: time => floor(time, hourMs), next: start => start + hourMs },
  daily: { start: time => floor(time, dayMs), next: start => start + dayMs },
  weekly: {
    start: time => floor(time - firstMonday, 7 * dayMs) + firstMonday,
    next: start => start + 7 * dayMs,
  },
  monthly: {
    start: time => Date.UTC(new Date(time).getUTCFullYear(), new Date(time).getUTCMonth(), 1),
    next: start => Date.UTC(new Date(start).getUTCFullYear(), new Date(start).getUTCMonth() + 1, 1),
  },
}

/**
 * Starts of the hours, days, ISO weeks (from Monday) or months of UTC that the window touches. The first one may lie
 * before the window: a bucket is named after its unit, what it holds is of the window alone.
 */
export const bucketsOf = ({ from, to }: Window, resolution: Resolution): number[] => {
  const { start, next } = steps[resolution]
  const buckets: number[] = []
  for (let at = start(from); at < to; at = next(at)) buckets.push(at)
  return buckets
}
