import { fail } from './errors.ts'

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** Milliseconds of `30m`, `24h`, `7d`, `2w`, `90s`; throws `invalid_argument` naming `field` otherwise. */
export const durationMs = (value: string, field: string): number => {
  const match = /^(\d{1,9})([smhdw])$/.exec(value)
  if (!match) throw fail('invalid_argument', { field, reason: 'must be an integer followed by s, m, h, d or w' })
  return Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]
}
