/** The daemon's configuration: environment and flags in, one frozen value out. The only reader of the environment in daemon/. */
import { tmpdir, totalmem } from 'node:os'
import { resolve } from 'node:path'
import type { Flags } from './flags.ts'
import { boolean, driveVendor, integer, integerOr, vendor, wordsOf, type Env } from './read.ts'
import { durationMs } from '../../shared/durations.ts'
import { privatePath } from './private-place.ts'
import { parseWireNames, wireNames, type WireNames } from '../../shared/wire-names.ts'
import { defaultLogDir } from '../../shared/log-dir.ts'

const KiB = 1024
const MiB = 1024 * KiB
const maxInteger = Number.MAX_SAFE_INTEGER

interface LogLimits {
  readonly dir: string
  /** Accepted for compatibility: hutchd sends no telemetry. */
  readonly telemetry: boolean
  /** Ceiling of one file in bytes; 0 turns capping off. */
  readonly maxFileBytes: number
  /** Budget of all files in bytes; 0 leaves only the ceiling per file. */
  readonly maxTotalBytes: number
  readonly inMemoryBytes: number
  readonly responseBytes: number
}

export interface Config extends Flags {
  readonly names: WireNames
  /** Where relative paths of the API start; fixed at start. */
  readonly workdir: string
  readonly tmpDir: string
  /** Uploads in parts that were idle for so long are deleted; undefined keeps them. */
  readonly uploadExpiryMs: number | undefined
  readonly terminal: boolean
  readonly logRequests: boolean
  /** Answers carry a Server-Timing header. */
  readonly serverTiming: boolean
  /** prod, dev or whatever the platform calls itself. */
  readonly platformEnv: string
  readonly workspace: string
  readonly workspaceId: string
  readonly name: string
  /** Where the metadata document may be; the first that is there counts. */
  readonly metadataPaths: readonly string[]
  /** Base64 document of the tunnel that comes up at start, or ''. */
  readonly networkingConfig: string
  /** A program and its arguments that run from the start; none for none. */
  readonly entrypoint: readonly string[]
  /** Soft limit of the daemon's heap in bytes; undefined leaves it to V8. */
  readonly heapLimitBytes: number | undefined
  readonly keepAlive: boolean
  readonly scaleFile: string
  readonly logs: LogLimits
  readonly stateFile: string
  /** Only root can read and write it: a tenant must not decide, for example, which processes are the daemon's. */
  readonly stateDir: string
  readonly upgradeCount: number
  readonly devMode: boolean
  /** Address under which releases may be fetched, or ''. */
  readonly releasesUrl: string
  /**
   * Directory in which the host shows runtime bundles, or ''. A daemon with neither this nor an address is never
   * replaced.
   */
  readonly releasesDir: string
  /** A downloaded release is kept on the file system of this directory. */
  readonly upgradeDir: string
  /** This daemon only proves that it could take over: it answers the API, but adopts, changes and starts nothing. */
  readonly rehearsal: boolean
  readonly localProxyPort: number
  readonly proxyStateFile: string
  readonly extraCaCerts: string
  readonly mergedCaPath: string
  readonly codegen: {
    readonly relaceKey: string
    readonly relaceUrl: string
    readonly morphKey: string
    readonly morphUrl: string
  }
  readonly drives: { readonly root: string; readonly uidMap: string; readonly gidMap: string }
  /** What children inherit before reloads: the environment without the daemon's own variables. */
  readonly environment: Readonly<Record<string, string>>
}

/** Bytes of memory: what the system says there is, and what of it this process may have. */
interface Memory {
  readonly total: number
  readonly bound: number
}

/**
 * As the host has `told`, or as the system says. Asking that takes five files, one of which the kernel gives only when nobody
 * moves processes between control groups.
 */
const memoryOf = (told: number | undefined): Memory => {
  const total = told ?? totalmem()
  // Without a limit the system reports one that is larger than the memory.
  return { total, bound: told ?? Math.min(total, process.constrainedMemory() || Number.POSITIVE_INFINITY) }
}

/** A fifth of the memory, but no less than the daemon needs. GOMEMLIMIT is meant for a daemon written in Go. */
const heapLimit = (env: Env, { bound }: Memory): number | undefined => {
  if (env['GOMEMLIMIT']) return undefined
  const percent = integerOr(env['SANDBOX_MAX_HEAP_PERCENT'], 1, 100, 20)
  return Math.max(64 * MiB, Math.floor((bound * percent) / 100))
}

const logLimits = (env: Env, { total: memory }: Memory): LogLimits => {
  const percent = integerOr(env['SANDBOX_MAX_LOG_PERCENT'], 1, 100, 10)
  const share = memory > 0 ? Math.floor((memory * percent) / 100) : 96 * MiB
  return {
    dir: env['SANDBOX_LOG_DIR'] || defaultLogDir,
    telemetry: !boolean(env['SANDBOX_DISABLE_PROCESS_LOGGING']),
    maxFileBytes: integerOr(env['SANDBOX_MAX_LOG_FILE_BYTES'], 0, maxInteger, 32 * MiB),
    maxTotalBytes: integerOr(env['SANDBOX_MAX_LOG_BYTES_TOTAL'], 0, maxInteger, share),
    inMemoryBytes: integerOr(env['SANDBOX_MAX_IN_MEMORY_LOG_BYTES'], 1, maxInteger, 64 * KiB),
    responseBytes: integerOr(env['SANDBOX_MAX_LOGS_RESPONSE_BYTES'], 1, maxInteger, 4 * MiB),
  }
}

/** The platform's user counts only together with its switch; the flag needs none. */
const workloadUser = (env: Env, names: WireNames, flags: Flags): string | undefined => {
  if (flags.user) return flags.user
  return boolean(vendor(env, names, 'SANDBOX_USER_ENABLED'))
    ? vendor(env, names, 'SANDBOX_USER') || undefined
    : undefined
}

const uploadExpiry = (value: string): number | undefined =>
  value === 'never' ? undefined : durationMs(value, 'HUTCH_UPLOAD_EXPIRY')

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

/** What of an environment the workload gets: all but the daemon's own; the networking document holds a private key. */
export const workloadEnvironment = (env: Env, names: WireNames): Record<string, string> => {
  const own = new Set(names.env('NETWORKING_CONFIG'))
  return Object.fromEntries(
    Object.entries(env).filter(
      (pair): pair is [string, string] => pair[1] !== undefined && !pair[0].startsWith('HUTCH_') && !own.has(pair[0]),
    ),
  )
}

/** The vendor prefixes that variables of this environment may have. */
export const namesOf = (env: Env): WireNames => wireNames(parseWireNames(env['HUTCH_WIRE_NAMES'], 'HUTCH_WIRE_NAMES'))

interface Source {
  readonly env: Env
  readonly flags: Flags
  readonly cwd: string
  /** The environment says which prefixes its variables have where it is left out. */
  readonly names?: WireNames
  /** As the host has told it. */
  readonly memoryBytes?: number | undefined
}

/** Reads the configuration. Throws `invalid_argument` naming the variable where no fallback is safe. */
export const loadConfig = ({ env, flags, cwd, names = namesOf(env), memoryBytes }: Source): Config => {
  const memory = memoryOf(memoryBytes)
  const own = (suffix: string): string => vendor(env, names, suffix) ?? ''
  return Object.freeze({
    ...flags,
    user: workloadUser(env, names, flags),
    telemetry: flags.telemetry && boolean(env['TELEMETRY_ENABLED'], true),
    names,
    workdir: resolve('/', cwd, env['WORKDIR'] || '.'),
    tmpDir: env['TMPDIR'] || tmpdir(),
    uploadExpiryMs: uploadExpiry(env['HUTCH_UPLOAD_EXPIRY'] || '7d'),
    terminal: !/^(true|1)$/.test(env['DISABLE_TERMINAL'] ?? ''),
    logRequests: env['DISABLE_REQUEST_LOGGING'] !== 'true',
    serverTiming: env['ENABLE_PROCESSING_TIME'] === 'true',
    platformEnv: own('ENV'),
    workspace: own('WORKSPACE'),
    workspaceId: own('WORKSPACE_ID'),
    name: own('NAME'),
    metadataPaths: own('METADATA_PATH') ? [own('METADATA_PATH')] : names.list.map(({ short }) => `/${short}/metadata`),
    networkingConfig: own('NETWORKING_CONFIG'),
    entrypoint: wordsOf(env, 'HUTCH_ENTRYPOINT'),
    heapLimitBytes: heapLimit(env, memory),
    keepAlive: !boolean(own('DISABLE_KEEPALIVE')),
    scaleFile: own('SCALE_FILE') || '/uk/libukp/scale_to_zero_disable',
    logs: Object.freeze(logLimits(env, memory)),
    stateFile: env['SANDBOX_STATE_FILE'] || '/tmp/sandbox-api-process-state.json',
    stateDir: privatePath(env, 'state') ?? (env['HUTCH_STATE_DIR'] || '/var/lib/hutchd/state'),
    upgradeCount: integerOr(env['SANDBOX_UPGRADE_COUNT'], 0, maxInteger, 0),
    devMode: boolean(env['SANDBOX_DEV_MODE']),
    releasesUrl: withoutSlash(env['HUTCH_RELEASES_URL'] ?? ''),
    releasesDir: env['HUTCH_RELEASES_DIR'] ?? '',
    upgradeDir: privatePath(env, 'upgrade') ?? (env['HUTCH_UPGRADE_DIR'] || '/var/lib/hutchd'),
    rehearsal: boolean(env['HUTCH_REHEARSAL']),
    localProxyPort: integer(env['SANDBOX_LOCAL_PROXY_PORT'], 1, 65_535) ?? 49_152,
    proxyStateFile:
      privatePath(env, 'proxy-state.json') ?? (env['SANDBOX_PROXY_STATE_FILE'] || '/tmp/sandbox-api-proxy-state.json'),
    extraCaCerts: env['SANDBOX_EXTRA_CA_CERTS'] ?? '',
    mergedCaPath: env['SANDBOX_MERGED_CA_PATH'] || '/etc/ssl/certs/sandbox-ca-bundle.crt',
    codegen: Object.freeze({
      relaceKey: env['RELACE_API_KEY'] ?? '',
      relaceUrl: withoutSlash(env['RELACE_BASE_URL'] || 'https://models.relace.ai'),
      morphKey: env['MORPH_API_KEY'] ?? '',
      morphUrl: withoutSlash(env['MORPH_BASE_URL'] || 'https://api.morphllm.com/v1'),
    }),
    drives: Object.freeze({
      root: env['HUTCH_DRIVES_ROOT'] || '/.hutch-drives',
      uidMap: driveVendor(env, names, 'UID_MAP') ?? '',
      gidMap: driveVendor(env, names, 'GID_MAP') ?? '',
    }),
    environment: Object.freeze(workloadEnvironment(env, names)),
  })
}
