/** The options of `openHost`, held against the same checks as the variables of a server. */
import { fail, isError } from '../../shared/errors.ts'
import { parse, s, type Shape } from '../../shared/schema.ts'
import { withOurs } from '../../shared/wire-names.ts'
import {
  loadConfig,
  reclaimSeconds,
  removeSeconds,
  standbySeconds,
  startupSeconds,
  type Config,
} from '../base/config.ts'
import { mailShape } from '../base/config/mail.ts'
import { packagesShape } from '../base/config/packages.ts'
import { pullRanges } from '../base/config/registries.ts'
import { signInShape } from '../base/config/sign-in.ts'
import { tlsShape } from '../base/config/tls.ts'
import { versionMap, wireNameList } from '../base/config/wire-profile.ts'
import { checkMembers } from './check-options.ts'

/** The variable that says the same, and so how it is checked. */
const variables = {
  host: 'HUTCH_HOST',
  port: 'HUTCH_PORT',
  publicUrl: 'HUTCH_PUBLIC_URL',
  trustedProxies: 'HUTCH_TRUSTED_PROXIES',
  clientHosts: 'HUTCH_CLIENT_HOSTS',
  sandboxDomain: 'HUTCH_SANDBOX_DOMAIN',
  previewDomain: 'HUTCH_PREVIEW_DOMAIN',
  dataDir: 'HUTCH_DATA_DIR',
  drivesDir: 'HUTCH_DRIVES_DIR',
  driver: 'HUTCH_DRIVER',
  runtime: 'HUTCH_RUNTIME',
  regions: 'HUTCH_REGIONS',
  logLevel: 'HUTCH_LOG_LEVEL',
  logFormat: 'HUTCH_LOG_FORMAT',
  subnet: 'HUTCH_SUBNET',
  allowNetworks: 'HUTCH_ALLOW_NETWORKS',
  caFile: 'HUTCH_CA_FILE',
  sandboxProxy: 'HUTCH_SANDBOX_PROXY',
  sandboxNoProxy: 'HUTCH_SANDBOX_NO_PROXY',
  egressResolvers: 'HUTCH_EGRESS_RESOLVERS',
  dnsResolvers: 'HUTCH_DNS_RESOLVERS',
  egressAddresses: 'HUTCH_EGRESS_ADDRESSES',
  egressProxy: 'HUTCH_EGRESS_PROXY',
  slotsAhead: 'HUTCH_SLOTS_AHEAD',
  warm: 'HUTCH_WARM',
  warmDemand: 'HUTCH_WARM_DEMAND',
  pidsLimit: 'HUTCH_PIDS_LIMIT',
  diskQuota: 'HUTCH_DISK_QUOTA',
  diskReserveMb: 'HUTCH_DISK_RESERVE_MB',
  userNamespaces: 'HUTCH_USER_NAMESPACES',
  prices: 'HUTCH_PRICES',
  quotas: 'HUTCH_QUOTAS',
  providers: 'HUTCH_PROVIDERS',
  callbackOrigins: 'HUTCH_CALLBACK_ORIGINS',
  bundleDir: 'HUTCH_BUNDLE_DIR',
  imagesDir: 'HUTCH_IMAGES_DIR',
  registries: 'HUTCH_REGISTRIES',
  imageAliases: 'HUTCH_IMAGE_ALIASES',
} satisfies Partial<Record<keyof Config, string>>

const MiB = 1024 * 1024
const within = ({ min, max }: { min: number; max: number }, unit: number) =>
  s.number().check(s.minimum(min * unit), s.maximum(max * unit))

/** What no variable says in the same form. */
const shapes = {
  wireNames: wireNameList,
  apiVersions: versionMap,
  standbyAfterMs: within(standbySeconds, 1000),
  reclaimAfterMs: within(reclaimSeconds, 1000),
  startupMs: within(startupSeconds, 1000),
  removeAfterMs: within(removeSeconds, 1000),
  place: s.strictObject({ country: s.string(), continent: s.string(), flavors: s.array(s.string()) }),
  tls: tlsShape,
  signIn: signInShape,
  mail: mailShape,
  packages: packagesShape,
  pullLimits: s.strictObject({
    maxBytes: within(pullRanges.maxMb, MiB),
    atOnce: s.int().check(s.minimum(pullRanges.atOnce.min), s.maximum(pullRanges.atOnce.max)),
    timeMs: within(pullRanges.seconds, 1000),
  }),
  proxies: s.strictObject({ http: s.string(), https: s.string(), except: s.array(s.string()) }),
} satisfies Record<Exclude<keyof Config, keyof typeof variables>, Shape>

const endpoint = ({ host, port }: { host: string; port?: number }): string =>
  port === undefined ? host : `${host}:${port}`

const writers: { readonly [option in keyof typeof variables]?: (value: Config[option]) => string } = {
  egressResolvers: servers => servers.map(endpoint).join(','),
  dnsResolvers: servers => servers.map(endpoint).join(','),
  registries: rules => rules.map(rule => `${rule.plain ? 'http://' : ''}${endpoint(rule)}`).join(',') || 'none',
}

const written = (value: unknown): string => {
  if (Array.isArray(value)) return value.join(',')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([name, one]) => `${name}=${String(one)}`)
    .join(',')
}

const kindOf = (value: unknown): string =>
  Array.isArray(value)
    ? 'a list'
    : typeof value === 'string'
      ? 'text'
      : `a${typeof value === 'object' ? 'n' : ''} ${typeof value}`

const variableFor = (option: keyof typeof variables, value: unknown, usual: unknown): string => {
  if (value === null || kindOf(value) !== kindOf(usual))
    throw fail('invalid_argument', { field: option, reason: `must be ${kindOf(usual)}` })
  const write = (writers[option] ?? written) as (value: unknown) => string
  try {
    return write(value)
  } catch (error) {
    throw fail('invalid_argument', { field: option, reason: 'is not what its type says' }, error)
  }
}

const optionOf = (variable: string): string | undefined =>
  Object.entries(variables).find(([, name]) => name === variable)?.[0]

/** In the words of a program, which has no variables. */
const inOptions = (error: unknown): unknown => {
  const { field, reason } = isError(error, 'invalid_argument')
    ? (error.details ?? { field: '', reason: '' })
    : { field: '', reason: '' }
  const option = optionOf(field)
  if (option === undefined) return error
  const said = reason.replaceAll(/HUTCH_[A-Z_]+/g, name => optionOf(name) ?? name)
  return fail('invalid_argument', { field: option, reason: said }, error)
}

const shaped = (given: Partial<Config>): Partial<Config> => {
  const members = Object.entries(shapes).flatMap(([name, shape]) => {
    const value = given[name as keyof typeof shapes]
    return value === undefined ? [] : [[name, parse(s.object({ [name]: shape }), { [name]: value }, 'config')[name]]]
  })
  const found = Object.fromEntries(members) as Partial<Config>
  return found.wireNames ? { ...found, wireNames: withOurs(found.wireNames, 'wireNames') } : found
}

/**
 * What a program gave, and the defaults of a server for the rest; the environment is not read. Throws `invalid_argument` naming the
 * option.
 */
export const configOf = (given: Partial<Config>): Config => {
  const usual = loadConfig({}, process.cwd())
  checkMembers(given, Object.keys(usual))
  const environment = Object.entries(variables).flatMap(([name, variable]) => {
    const option = name as keyof typeof variables
    const value = given[option]
    return value === undefined ? [] : [[variable, variableFor(option, value, usual[option])]]
  })
  const more = shaped(given)
  try {
    return Object.freeze({ ...loadConfig(Object.fromEntries(environment), process.cwd()), ...more })
  } catch (error) {
    throw inOptions(error)
  }
}
