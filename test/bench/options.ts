/** The command line of the benchmarks. */
import { parseArgs } from 'node:util'

export const families = [
  'host',
  'warm',
  'quota',
  'tti',
  'density',
  'neighbour',
  'bundle',
  'process',
  'files',
  'beside',
  'soak',
  'gateway',
  'management',
  'egress',
  'store',
] as const
export type Family = (typeof families)[number]

/** Families that belong together under one more name. */
const groups: Readonly<Record<string, readonly Family[]>> = {
  daemon: ['bundle', 'process', 'files', 'beside', 'soak'],
  gateway: ['gateway', 'management'],
  api: ['management'],
}

export interface Options {
  readonly only: readonly Family[]
  readonly json: boolean
  /** How many sandboxes there are where that is a question (`density`); undefined for what fits every box. */
  readonly count?: number
}

/** `--only name` (one family, `daemon`, `gateway` or `api`; may be repeated) `--json` and `--count number`. Throws an Error that says what is possible. */
export const optionsOf = (args: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true },
      json: { type: 'boolean', default: false },
      count: { type: 'string' },
    },
  })
  const { only = [], json, count } = values
  if (count !== undefined && !/^[1-9]\d{0,4}$/.test(count)) throw new Error(`--count is a number, not "${count}"`)
  const chosen = only.flatMap(name => {
    const found = groups[name] ?? families.filter(family => family === name)
    if (found.length === 0)
      throw new Error(
        `there is no benchmark "${name}": use ${[...new Set([...Object.keys(groups), ...families])].join(', ')}`,
      )
    return found
  })
  return {
    json,
    ...(count === undefined ? {} : { count: Number(count) }),
    only: families.filter(family => chosen.length === 0 || chosen.includes(family)),
  }
}
