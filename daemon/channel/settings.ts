/** What of a daemon's settings follows what the host tells it while it runs. */
import { isDeepStrictEqual } from 'node:util'
import { loadConfig, type Config } from '../config/config.ts'

type Variables = Readonly<Record<string, string>>

/** What follows a change; all else is as at the start. */
const live: ReadonlySet<string> = new Set<keyof Config>([
  'names',
  'environment',
  'name',
  'workspace',
  'workspaceId',
  'user',
  'extraCaCerts',
])

/** The settings of a daemon like that of `config` that starts with this environment and memory, and no user among its flags. */
export const settingsOf = (config: Config, env: Variables, memoryBytes: number | undefined): Config =>
  loadConfig({ env, flags: { ...config, user: undefined }, cwd: config.workdir, names: config.names, memoryBytes })

/** Settings that are not the same, and that only a start reads. */
export const differing = (one: Config, other: Config): string[] =>
  (Object.keys(one) as (keyof Config)[]).filter(key => !live.has(key) && !isDeepStrictEqual(one[key], other[key]))

/** Without what a claim may change: where relative paths begin, and what follows the memory that there is. */
const unclaimed = (config: Config): Config => ({
  ...config,
  workdir: '',
  heapLimitBytes: undefined,
  logs: { ...config.logs, maxTotalBytes: 0 },
})

/** Whether a daemon need not start anew to have the other settings when it is claimed. */
export const canBecome = (one: Config, other: Config): boolean =>
  differing(unclaimed(one), unclaimed(other)).length === 0

/** What the workload is to inherit when the variables `before` of what it was `given` are replaced by `next`. */
export const inherits = (given: Variables, next: Variables, before: Variables): Variables => {
  const kept = Object.entries(given).filter(([name]) => !Object.hasOwn(before, name))
  return { ...Object.fromEntries(kept), ...next }
}
