/** The command line of the benchmarks. */
import { parseArgs } from 'node:util'

export const families = [
  'host',
  'warm',
  'quota',
  'tti',
  'bundle',
  'process',
  'files',
  'soak',
  'gateway',
  'management',
  'egress',
  'store',
] as const
export type Family = (typeof families)[number]

/** Families that belong together under one more name. */
const groups: Readonly<Record<string, readonly Family[]>> = {
  daemon: ['bundle', 'process', 'files', 'soak'],
  gateway: ['gateway', 'management'],
  api: ['management'],
}

export interface Options {
  readonly only: readonly Family[]
  readonly json: boolean
}

/** `--only name` (one family, `daemon`, `gateway` or `api`; may be repeated) and `--json`. Throws an Error that says what is possible. */
export const optionsOf = (args: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: 'string', multiple: true }, json: { type: 'boolean', default: false } },
  })
  const { only = [], json } = values
  const chosen = only.flatMap(name => {
    const found = groups[name] ?? families.filter(family => family === name)
    if (found.length === 0)
      throw new Error(
        `there is no benchmark "${name}": use ${[...new Set([...Object.keys(groups), ...families])].join(', ')}`,
      )
    return found
  })
  return { json, only: families.filter(family => chosen.length === 0 || chosen.includes(family)) }
}
