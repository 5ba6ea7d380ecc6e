/** What the host has configured: at the start, and since then. */
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../shared/clock.ts'
import { fail, messageOf } from '../../shared/errors.ts'
import type { BootDocument, Configuration, ConfigurationChange, MachineIdentity } from '../../shared/wire/host.ts'
import { loadConfig, workloadEnvironment, type Config } from '../config/config.ts'
import { replaceFile } from '../own-files/own-files.ts'
import type { Environment } from '../environment.ts'
import { loadIdentity, type Identity } from '../identity/index.ts'

export interface HostConfiguration {
  /**
   * Takes another configuration: all of it, or nothing when this throws. Throws `invalid_argument` for a user that there is
   * not, `operation_failed` for a file that cannot be written; of several files some are then written.
   */
  replace(next: ConfigurationChange): Promise<{ applied: number; removed: number; unapplied: string[] }>
  /**
   * Becomes what a claim says, as if it had been started with it now; false when that differs in what only a start reads, and
   * then nothing is changed. Throws as `replace`.
   */
  become(next: BootDocument): Promise<boolean>
  /** What the daemon may use of the memory that there is. */
  limits(): Limits
  /** When it became whose it is: by the clock's `now` and `elapsed`, ms. */
  begun(): Moment
  /** Whose machine it is, and the user that workloads run as; '' is root. */
  identity(): MachineIdentity & { readonly user: string }
  /** Who workloads run as; undefined means root. */
  workloadIdentity(): Identity | undefined
  /** The boot document as it would be for a start now: for the next daemon. */
  document(): BootDocument | undefined
}

interface Limits {
  /** Soft limit of the heap in bytes; undefined leaves it to V8. */
  readonly heapBytes: number | undefined
  /** Of all files of processes' output together; 0 for no such limit. */
  readonly logBytes: number
}

interface Moment {
  readonly now: number
  readonly elapsed: number
}

interface Deps {
  readonly clock: Clock
  readonly environment: Environment
  readonly config: Config
  /** Loads what points programs to the certificates that an environment names. */
  loadCertificates(): Promise<Install>
}

interface Context extends Deps {
  boot: BootDocument | undefined
  begun: Moment
  current: Configuration | undefined
  /** What the workload inherits, without what was changed inside since then. */
  given: Readonly<Record<string, string>>
  /** What of it a daemon would read; unknown before the first change. */
  settings: Config | undefined
  user: Identity | undefined
  /** The user is the flags' and stays; unknown before the first change. */
  flagged: boolean | undefined
}

type Install = (given: Readonly<Record<string, string>>) => void

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

/** The settings of a daemon that starts with this environment, and no user among its flags. */
const settingsOf = ({ config }: Context, env: Readonly<Record<string, string>>): Config =>
  loadConfig({ env, flags: { ...config, user: undefined }, cwd: config.workdir, names: config.names })

const differing = (one: Config, other: Config): string[] =>
  (Object.keys(one) as (keyof Config)[]).filter(key => !live.has(key) && !isDeepStrictEqual(one[key], other[key]))

const writeFiles = (files: Readonly<Record<string, string>>): void => {
  for (const [name, content] of Object.entries(files)) {
    try {
      replaceFile(join('/etc', name), content, 0o644)
    } catch (error) {
      throw fail('operation_failed', { reason: `etc.${name} cannot be written: ${messageOf(error)}` }, error)
    }
  }
}

/** What the workload is to inherit after `next`. */
const inherits = (
  { given }: Context,
  next: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
) => {
  const kept = Object.entries(given).filter(([name]) => !Object.hasOwn(before, name))
  return { ...Object.fromEntries(kept), ...next }
}

/** In one turn, so that nobody is heard between its steps. */
const replaceNow = (context: Context, { etc, ...next }: ConfigurationChange, install: Install | undefined) => {
  const { environment, config, current } = context
  const variables = workloadEnvironment(next.environment, config.names)
  const before = workloadEnvironment(current?.environment ?? {}, config.names)
  const given = inherits(context, variables, before)
  const was = context.settings ?? settingsOf(context, context.given)
  const settings = settingsOf(context, given)
  const flagged = context.flagged ?? config.user !== was.user
  const user = flagged || was.user === settings.user ? context.user : loadIdentity(settings.user)
  writeFiles(etc ?? {})
  const counts = environment.configure(variables, before)
  Object.assign(context, { current: next, given, settings, user, flagged })
  const trusts = settings.extraCaCerts !== '' && (etc !== undefined || settings.extraCaCerts !== was.extraCaCerts)
  if (trusts) install?.(given)
  return { ...counts, unapplied: differing(was, settings) }
}

/** Without what follows the memory that there is, which a claim may change. */
const withoutLimits = (config: Config): Config => ({
  ...config,
  heapLimitBytes: undefined,
  logs: { ...config.logs, maxTotalBytes: 0 },
})

const momentOf = (clock: Clock): Moment => ({ now: clock.now(), elapsed: clock.elapsed() })

const become = async (context: Context, next: BootDocument): Promise<boolean> => {
  const { config, current, clock } = context
  const before = workloadEnvironment(current?.environment ?? {}, config.names)
  const given = inherits(context, workloadEnvironment(next.configuration.environment, config.names), before)
  const [was, will] = [context.given, given].map(env => withoutLimits(settingsOf(context, env))) as [Config, Config]
  if (differing(was, will).length > 0) return false
  await replace(context, next.configuration)
  Object.assign(context, { boot: next, begun: momentOf(clock) })
  return true
}

const replace = async (context: Context, next: ConfigurationChange) => {
  const trusts = Boolean(next.environment['SANDBOX_EXTRA_CA_CERTS'])
  const install = trusts ? await context.loadCertificates() : undefined
  return replaceNow(context, next, install)
}

/** Throws `invalid_argument` when workloads are to run as a user that there is not. */
export const createHostConfiguration = (boot: BootDocument | undefined, deps: Deps): HostConfiguration => {
  const { config } = deps
  const context: Context = {
    ...deps,
    boot,
    current: boot?.configuration,
    given: config.environment,
    settings: undefined,
    flagged: undefined,
    user: loadIdentity(config.user),
    begun: momentOf(deps.clock),
  }
  return {
    replace: next => replace(context, next),
    become: next => become(context, next),
    limits() {
      const { heapLimitBytes, logs } = context.settings ?? config
      return { heapBytes: heapLimitBytes, logBytes: logs.maxTotalBytes }
    },
    begun: () => context.begun,
    identity() {
      const { name, workspace, workspaceId } = context.settings ?? config
      const whose = context.current?.identity ?? { name, workspace, workspaceId, labels: {} }
      return { ...whose, user: context.user?.name ?? '' }
    },
    workloadIdentity: () => context.user,
    document: () => context.boot && { ...context.boot, configuration: context.current ?? context.boot.configuration },
  }
}
