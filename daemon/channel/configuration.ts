/** What the host has configured: at the start, and since then. */
import type { Clock } from '../../shared/clock.ts'
import type { BootDocument, Configuration, ConfigurationChange, MachineIdentity } from '../../shared/wire/host.ts'
import { workloadEnvironment, type Config } from '../config/config.ts'
import type { Environment } from '../environment.ts'
import { loadIdentity, type Identity } from '../identity/index.ts'
import { writeEtc } from './etc.ts'
import { canBecome, differing, inherits, settingsOf } from './settings.ts'

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
  /** Where relative paths begin, which only a claim changes. */
  workdir(): string
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
  workdir: string
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

/** What a daemon with this configuration and memory would be started with. */
const wouldBe = ({ config, current, given }: Context, next: Configuration, memoryBytes: number | undefined) => {
  const variables = workloadEnvironment(next.environment, config.names)
  const before = workloadEnvironment(current?.environment ?? {}, config.names)
  const inherited = inherits(given, variables, before)
  return { variables, before, given: inherited, settings: settingsOf(config, inherited, memoryBytes) }
}

const memoryTold = ({ boot }: Pick<Context, 'boot'>): number | undefined => boot?.machine.memoryBytes

const settingsNow = (context: Context): Config =>
  context.settings ?? settingsOf(context.config, context.given, memoryTold(context))

/** What points programs to certificates, where the environment names any. */
const installFor = async (context: Context, { environment }: Configuration): Promise<Install | undefined> =>
  environment['SANDBOX_EXTRA_CA_CERTS'] ? context.loadCertificates() : undefined

interface Replacement {
  readonly change: ConfigurationChange
  readonly install: Install | undefined
  /** Of the change, in the same turn. */
  readonly after: ReturnType<typeof wouldBe>
}

/** In one turn, so that nobody is heard between its steps. */
const replaceNow = (context: Context, { change, install, after }: Replacement) => {
  const { environment, config } = context
  const { etc, ...next } = change
  const { variables, before, given, settings } = after
  const was = settingsNow(context)
  const flagged = context.flagged ?? config.user !== was.user
  const user = flagged || was.user === settings.user ? context.user : loadIdentity(settings.user)
  writeEtc(etc ?? {})
  const counts = environment.configure(variables, before)
  Object.assign(context, { current: next, given, settings, user, flagged })
  const trusts = settings.extraCaCerts !== '' && (etc !== undefined || settings.extraCaCerts !== was.extraCaCerts)
  if (trusts) install?.(given)
  return { ...counts, unapplied: differing(was, settings) }
}

const replace = async (context: Context, change: ConfigurationChange) => {
  const install = await installFor(context, change)
  return replaceNow(context, { change, install, after: wouldBe(context, change, memoryTold(context)) })
}

const momentOf = (clock: Clock): Moment => ({ now: clock.now(), elapsed: clock.elapsed() })

const become = async (context: Context, next: BootDocument): Promise<boolean> => {
  const { configuration: change, machine } = next
  const install = await installFor(context, change)
  const after = wouldBe(context, change, machine.memoryBytes)
  if (!canBecome(settingsNow(context), after.settings)) return false
  replaceNow(context, { change, install, after })
  Object.assign(context, { boot: next, begun: momentOf(context.clock), workdir: after.settings.workdir })
  return true
}

/** Throws `invalid_argument` when workloads are to run as a user that there is not. */
export const createHostConfiguration = (boot: BootDocument | undefined, deps: Deps): HostConfiguration => {
  const { config } = deps
  const context: Context = {
    ...deps,
    workdir: config.workdir,
    boot,
    current: boot?.configuration,
    given: config.environment,
    // Whoever claims it waits.
    settings: boot?.machine.anonymous ? settingsOf(config, config.environment, memoryTold({ boot })) : undefined,
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
    workdir: () => context.workdir,
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
