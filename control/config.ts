/** The host's configuration: environment in, one frozen value out. The only reader of process.env in control/. */
import { resolve } from 'node:path'
import { fail } from '../shared/errors.ts'
import { parseWireNames, type WireName } from '../shared/wire-names.ts'

export type { WireName } from '../shared/wire-names.ts'

export interface Config {
  readonly host: string
  readonly port: number
  /** Address under which this box is reached from outside, without a trailing slash; '' means the one it listens on. */
  readonly publicUrl: string
  /** Domain with a wildcard DNS entry for this box; sandboxes are then named by host instead of by path. */
  readonly sandboxDomain: string
  readonly dataDir: string
  /** Where the drives of all workspaces are, `<workspace>/<drive>/`; '' for no drives. */
  readonly drivesDir: string
  readonly driver: string
  /** OCI runtime binary of the oci driver: runc, runsc or crun. */
  readonly runtime: string
  readonly wireNames: readonly WireName[]
  readonly regions: readonly string[]
  /** Idle time before a sandbox is frozen, in ms. */
  readonly standbyAfterMs: number
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  /** IPv4 network that sandbox addresses are cut from. */
  readonly subnet: string
  /** Private networks that sandboxes may reach all the same, as CIDR: a registry mirror, a model server. */
  readonly allowNetworks: readonly string[]
  /** PEM file of authorities that servers may have beside the system's, for connections that the outbound proxy opens; '' for none. */
  readonly caFile: string
  /** Name servers that are asked for sandboxes with an outbound policy; none for those of this box. */
  readonly egressResolvers: readonly string[]
  /** Network slots kept ready ahead of need. */
  readonly slotsAhead: number
  /** Processes and threads of one sandbox. */
  readonly pidsLimit: number
  /** USD per unit of each billing dimension. */
  readonly prices: Readonly<Record<string, number>>
  /** The unpacked runtime bundle that goes into every sandbox. */
  readonly bundleDir: string
  /** Base images of this machine, shared by its data directories. */
  readonly imagesDir: string
}

const number = (env: NodeJS.ProcessEnv, name: string, fallback: number, min: number, max: number): number => {
  const value = env[name]
  if (value === undefined || value === '') return fallback
  const parsed = Number(value)
  if (!Number.isFinite(parsed) || parsed < min || parsed > max)
    throw fail('invalid_argument', { field: name, reason: `must be a number between ${min} and ${max}` })
  return parsed
}

const choice = <T extends string>(env: NodeJS.ProcessEnv, name: string, fallback: T, choices: readonly T[]): T => {
  const value = (env[name] || fallback) as T
  if (!choices.includes(value))
    throw fail('invalid_argument', { field: name, reason: `must be one of ${choices.join(', ')}` })
  return value
}

const url = (value: string | undefined): string => {
  if (!value) return ''
  if (!/^https?:$/.test(URL.parse(value)?.protocol ?? ''))
    throw fail('invalid_argument', { field: 'HUTCH_PUBLIC_URL', reason: 'must be an http or https URL' })
  return value.replace(/\/+$/, '')
}

const prices = (value: string | undefined): Record<string, number> => {
  // Defaults are round figures of the market in 2026 so that a demo bill is not all zeros; set your own.
  const table: Record<string, number> = {
    sandbox_compute_runtime_gbs: 0.0000115,
    sandbox_snapshot_storage_gbs: 0.00000007,
  }
  for (const part of (value ?? '').split(',').filter(Boolean)) {
    const [dimension = '', price = ''] = part.split('=')
    const usd = Number(price)
    if (!dimension || price === '' || !Number.isFinite(usd) || usd < 0)
      throw fail('invalid_argument', { field: 'HUTCH_PRICES', reason: `"${part}" is not dimension=usd` })
    table[dimension.trim()] = usd
  }
  return table
}

const words = (list: string): string[] =>
  list
    .split(',')
    .map(word => word.trim())
    .filter(Boolean)

/** Reads the configuration; throws `invalid_argument` naming the variable. */
export const loadConfig = (env: NodeJS.ProcessEnv, cwd: string): Config =>
  Object.freeze({
    host: env['HUTCH_HOST'] || '127.0.0.1',
    port: number(env, 'HUTCH_PORT', 8080, 0, 65_535),
    publicUrl: url(env['HUTCH_PUBLIC_URL']),
    sandboxDomain: env['HUTCH_SANDBOX_DOMAIN'] || '',
    dataDir: resolve(cwd, env['HUTCH_DATA_DIR'] || '.hutch'),
    drivesDir: env['HUTCH_DRIVES_DIR'] ? resolve(cwd, env['HUTCH_DRIVES_DIR']) : '',
    driver: env['HUTCH_DRIVER'] || 'auto',
    runtime: choice(env, 'HUTCH_RUNTIME', 'runc', ['runc', 'runsc', 'crun']),
    wireNames: parseWireNames(env['HUTCH_WIRE_NAMES'], 'HUTCH_WIRE_NAMES'),
    regions: words(env['HUTCH_REGIONS'] || 'local'),
    standbyAfterMs: number(env, 'HUTCH_STANDBY_SECONDS', 15, 0.05, 86_400) * 1000,
    logLevel: choice(env, 'HUTCH_LOG_LEVEL', 'info', ['debug', 'info', 'warn', 'error']),
    subnet: env['HUTCH_SUBNET'] || '10.89.0.0/16',
    allowNetworks: words(env['HUTCH_ALLOW_NETWORKS'] ?? ''),
    caFile: env['HUTCH_CA_FILE'] ? resolve(cwd, env['HUTCH_CA_FILE']) : '',
    egressResolvers: words(env['HUTCH_EGRESS_RESOLVERS'] ?? ''),
    slotsAhead: number(env, 'HUTCH_SLOTS_AHEAD', 8, 0, 1_024),
    pidsLimit: number(env, 'HUTCH_PIDS_LIMIT', 4_096, 32, 4_194_304),
    prices: prices(env['HUTCH_PRICES']),
    bundleDir: resolve(cwd, env['HUTCH_BUNDLE_DIR'] || '.runtime/bundle'),
    imagesDir: resolve(cwd, env['HUTCH_IMAGES_DIR'] || '.runtime/images'),
  })
