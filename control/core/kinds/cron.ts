/** Cron expressions: five fields, in UTC. */
import { Cron } from 'croner'

/** Of minute, hour, day of the month, month and day of the week; Sunday is 0 and 7. */
const ranges = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
] as const

/** Names stand for numbers in the last two fields. */
const named: Readonly<Record<number, readonly string[]>> = {
  3: ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  4: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
}

/** `*`, a value or a range of values, each with or without a step. */
const item = /^(?:\*|([a-z\d]{1,3})(?:-([a-z\d]{1,3}))?)(?:\/(\d{1,2}))?$/

const numberOf = (text: string, at: number): number =>
  /^\d+$/.test(text) ? Number(text) : (named[at]?.indexOf(text) ?? -1)

const isItem = (text: string, at: number): boolean => {
  const match = item.exec(text)
  if (!match || match[3] === '0' || match[3] === '00') return false
  const [, from, to = from] = match
  if (from === undefined || to === undefined) return true
  const [low, high] = ranges[at] as readonly [number, number]
  const [first, last] = [numberOf(from, at), numberOf(to, at)]
  return low <= first && first <= last && last <= high
}

/** Whether a text is a schedule of five fields, such as `0 9 * * mon-fri`. */
export const isCron = (text: string): boolean => {
  const fields = text.trim().toLowerCase().split(/\s+/)
  return fields.length === ranges.length && fields.every((field, at) => field.split(',').every(one => isItem(one, at)))
}

/** The first minute after `after` (epoch ms) that the expression names; undefined when there is none, as for 30 February. */
export const nextCron = (expression: string, after: number): number | undefined =>
  new Cron(expression.trim(), { timezone: 'UTC', paused: true, mode: '5-part' }).nextRun(new Date(after))?.getTime()
