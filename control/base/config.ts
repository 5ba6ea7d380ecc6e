/** The host's configuration: environment in, one frozen value out. The only reader of process.env in control/. */
import { join, resolve } from 'node:path'
import { installation as thisInstallation, type Installation } from '../../shared/installation.ts'
import type { WireName } from '../../shared/wire-names.ts'
import type { ApiVersion } from './config/api-versions.ts'
import { mailFrom, type MailConfig } from './config/mail.ts'
import { refuseUnknown } from './config/names.ts'
import {
  allowedFrom,
  egressAddressesFrom,
  egressProxyFrom,
  originsFrom,
  resolversFrom,
  subnetFrom,
  trustedProxiesFrom,
  type NameServer,
} from './config/networks.ts'
import { packagesFrom, type Packages } from './config/packages.ts'
import { placeFrom, type PlaceConfig } from './config/place.ts'
import { pricesFrom } from './config/prices.ts'
import { proxiesFrom, type Proxies } from './config/proxies.ts'
import { quotasFrom } from './config/quotas.ts'
import { aliasesFrom, pullLimitsFrom, registriesFrom, type PullLimits, type RegistryRule } from './config/registries.ts'
import { clientHostsFrom, signInFrom, type SignInConfig } from './config/sign-in.ts'
import { tlsFrom, type TlsConfig } from './config/tls.ts'
import { warmDemandFrom, warmFrom } from './config/warm.ts'
import {
  choiceOf,
  domainOf,
  hostOf,
  integerOf,
  isLabel,
  listOf,
  numberOf,
  refuse,
  textOf,
  urlOf,
  type Environment,
} from './config/values.ts'
import { wireFrom } from './config/wire-profile.ts'

export type { Proxies } from './config/proxies.ts'
export type { PullLimits, RegistryRule } from './config/registries.ts'
export type { WireName } from '../../shared/wire-names.ts'

type Switch = 'auto' | 'on' | 'off'

export interface Config {
  /** Address or name to listen on. Default `127.0.0.1`. */
  readonly host: string
  /** 0 to 65535; 0 takes a free one. Default 8080. */
  readonly port: number
  /** Address under which this box is reached from outside, without a trailing slash; '' means the one it listens on. */
  readonly publicUrl: string
  /** Whether the main listener speaks TLS, and with which certificates. */
  readonly tls: TlsConfig
  /** Proxies in front of this host, as addresses or networks: whom they name is who calls. Default none. */
  readonly trustedProxies: readonly string[]
  /** The operator's provider, with which people may sign in besides. Default none. */
  readonly signIn: SignInConfig
  /** The server that takes mail. Default none. */
  readonly mail: MailConfig
  /** Hosts whose client-id documents are fetched wherever they are; others only at public addresses. Default none. */
  readonly clientHosts: readonly string[]
  /** Domain with a wildcard DNS entry for this box; sandboxes are then named by host instead of by path. */
  readonly sandboxDomain: string
  /** Domain with a wildcard DNS entry for this box, under whose regions previews are served by host name. */
  readonly previewDomain: string
  /** Records, keys, sandboxes' files. Default `./.hutch`. */
  readonly dataDir: string
  /** Where the drives of all workspaces are, `<workspace>/<drive>/`; '' for no drives. */
  readonly drivesDir: string
  /** `auto`, the default, or the name of a driver. */
  readonly driver: string
  /** OCI runtime binary of the oci driver: `runc`, `crun`, `runsc`, or `auto`, the default, for crun where it serves and else runc. */
  readonly runtime: string
  /** Prefixes of names on the wire; ours are always among them. Default ours alone. */
  readonly wireNames: readonly WireName[]
  /** Versions of the API beside ours: theirs → ours. */
  readonly apiVersions: Readonly<Record<string, ApiVersion>>
  /** Names this box answers to; the first is where a sandbox goes that names none. Default `['local']`. */
  readonly regions: readonly string[]
  /** Where this box is and what it has, for location and flavour policies. */
  readonly place: PlaceConfig
  /** Idle time before a sandbox is frozen, ms: 50 to 86,400,000. Default 15,000. */
  readonly standbyAfterMs: number
  /** Time asleep before a sandbox's memory goes to swap, where the box has any, ms: 50 to 86,400,000. Default 60,000. */
  readonly reclaimAfterMs: number
  /** How long the server of an agent, function or application may take to listen, ms: 1,000 to 3,600,000. Default 120,000. */
  readonly startupMs: number
  /** Time asleep before a machine of an agent, function or application is removed, ms: 1,000 to 31,536,000,000. Default 86,400,000. */
  readonly removeAfterMs: number
  /** Default `info`. */
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
  /** `auto`, the default: text on a terminal, JSON lines elsewhere. */
  readonly logFormat: 'auto' | 'text' | 'json'
  /** Private IPv4 network of /8 to /24 that sandbox addresses are cut from. Default `10.89.0.0/16`. */
  readonly subnet: string
  /** Private networks that sandboxes may reach all the same, as CIDR: a registry mirror, a model server. */
  readonly allowNetworks: readonly string[]
  /** PEM file of authorities beside the system's, for sandboxes and the connections that the outbound proxy opens; '' for none. */
  readonly caFile: string
  /** A proxy that sandboxes without an outbound policy are told of; '' for none. */
  readonly sandboxProxy: string
  /** What they reach past it. */
  readonly sandboxNoProxy: readonly string[]
  /** Name servers that are asked for sandboxes with an outbound policy; none for those of this box. */
  readonly egressResolvers: readonly NameServer[]
  /** A proxy of the network that the outbound proxy connects through, `http://host:port`. Default '' for none. */
  readonly egressProxy: string
  /** Registries whose packages are kept for several sandboxes. Default none. */
  readonly packages: Packages
  /** Name servers that are asked about custom domains; none for those of this box. */
  readonly dnsResolvers: readonly NameServer[]
  /** Addresses of this box that egress gateways leave from. Default none. */
  readonly egressAddresses: readonly string[]
  /** Network slots kept ready ahead of need, 0 to 1024. Default 8. */
  readonly slotsAhead: number
  /** Machines made ahead of need, by image: 0 to 1000 of each. Default none. */
  readonly warm: Readonly<Record<string, number>>
  /** How many are made ahead besides, of what was asked for lately: 0 to 1000. Default 0. */
  readonly warmDemand: number
  /** Processes and threads of one sandbox, 32 to 4,194,304. Default 4096. */
  readonly pidsLimit: number
  /** Whether sandboxes have users of their own: where the box can (`auto`, the default), always or not at all (`on`), never (`off`). */
  readonly userNamespaces: Switch
  /** Whether sandboxes have disks of their own: where the box can (`auto`, the default), always or not at all (`on`), never (`off`). */
  readonly diskQuota: Switch
  /** What of the data directory's disk is promised to no sandbox, MB, up to 1,048,576. Default 0: a tenth of it, 64 to 1024. */
  readonly diskReserveMb: number
  /** USD per unit of each billing dimension; those that are left out keep their defaults. */
  readonly prices: Readonly<Record<string, number>>
  /** What an account may have, by name: `sandboxes`, `sandbox_ttl` in days. Default no limits. */
  readonly quotas: Readonly<Record<string, number>>
  /** Origins of providers that connections may lead to; none unless given. */
  readonly providers: readonly string[]
  /** Origins that callbacks of agents may lead to though they are private ones; none unless given. */
  readonly callbackOrigins: readonly string[]
  /** The unpacked runtime bundle that goes into every sandbox. */
  readonly bundleDir: string
  /** Images that were built on this machine; only read. */
  readonly imagesDir: string
  /** Where images may be pulled from; none for no pulls. Default any public registry. */
  readonly registries: readonly RegistryRule[]
  /** Further names of images, and what they stand for; `base-image` is `base`. */
  readonly imageAliases: Readonly<Record<string, string>>
  readonly pullLimits: PullLimits
  /** Proxies that images are pulled through. Default none. */
  readonly proxies: Proxies
}

/** Where a checkout keeps what it builds, and a package what it unpacks for its data directory. */
export const runtimeDirOf = ({ kind, root }: Installation, dataDir: string): string =>
  kind === 'checkout' ? join(root, '.runtime') : join(dataDir, 'runtime')

export const standbySeconds = { fallback: 15, min: 0.05, max: 86_400 } as const
export const removeSeconds = { fallback: 86_400, min: 1, max: 31_536_000 } as const
export const startupSeconds = { fallback: 120, min: 1, max: 3_600 } as const
export const reclaimSeconds = { ...standbySeconds, fallback: 60 } as const

const regionsFrom = (env: Environment, more: readonly string[]): string[] => {
  const regions = listOf(env, 'HUTCH_REGIONS')
  for (const region of regions)
    if (!isLabel(region) || region === 'auto')
      throw refuse('HUTCH_REGIONS', `"${region}" must be lower-case letters, digits and hyphens, and not "auto"`)
  return [...new Set([...(regions.length > 0 ? regions : ['local']), ...more])]
}

/** Settings of agents, functions and applications. */
const workloadsFrom = (
  env: Environment,
): Pick<Config, 'startupMs' | 'removeAfterMs' | 'place' | 'callbackOrigins'> => ({
  startupMs: numberOf(env, 'HUTCH_STARTUP_SECONDS', startupSeconds) * 1000,
  removeAfterMs: numberOf(env, 'HUTCH_REMOVE_SECONDS', removeSeconds) * 1000,
  place: placeFrom(env),
  callbackOrigins: originsFrom(env, 'HUTCH_CALLBACK_ORIGINS', 'http://hooks.internal:8000'),
})

/** Reads the configuration; throws `invalid_argument` naming the variable. Relative paths begin at `cwd`. */
export const loadConfig = (env: Environment, cwd: string, installation = thisInstallation): Config => {
  refuseUnknown(env)
  const path = (name: string, fallback: string) => resolve(cwd, textOf(env, name) || fallback)
  const dataDir = path('HUTCH_DATA_DIR', '.hutch')
  const runtimeDir = runtimeDirOf(installation, dataDir)
  const wire = wireFrom(env, name => path(name, ''))
  const [sandboxDomain, previewDomain] = [domainOf(env, 'HUTCH_SANDBOX_DOMAIN'), domainOf(env, 'HUTCH_PREVIEW_DOMAIN')]
  if (previewDomain && previewDomain === sandboxDomain)
    throw refuse('HUTCH_PREVIEW_DOMAIN', 'must not be HUTCH_SANDBOX_DOMAIN: both name hosts below the regions')
  return Object.freeze({
    host: hostOf(env, 'HUTCH_HOST', '127.0.0.1'),
    port: integerOf(env, 'HUTCH_PORT', { fallback: 8080, min: 0, max: 65_535 }),
    publicUrl: urlOf(env, 'HUTCH_PUBLIC_URL'),
    tls: tlsFrom(env, name => path(name, '')),
    trustedProxies: trustedProxiesFrom(env),
    signIn: signInFrom(env, name => path(name, '')),
    mail: mailFrom(env, name => path(name, '')),
    clientHosts: clientHostsFrom(env),
    sandboxDomain,
    previewDomain,
    dataDir,
    drivesDir: textOf(env, 'HUTCH_DRIVES_DIR') && path('HUTCH_DRIVES_DIR', ''),
    driver: textOf(env, 'HUTCH_DRIVER') || 'auto',
    runtime: choiceOf(env, 'HUTCH_RUNTIME', ['auto', 'runc', 'crun', 'runsc']),
    wireNames: wire.wireNames,
    imageAliases: { ...wire.imageAliases, ...aliasesFrom(env) },
    apiVersions: wire.versions,
    regions: regionsFrom(env, wire.regions),
    standbyAfterMs: numberOf(env, 'HUTCH_STANDBY_SECONDS', standbySeconds) * 1000,
    reclaimAfterMs: numberOf(env, 'HUTCH_RECLAIM_SECONDS', reclaimSeconds) * 1000,
    ...workloadsFrom(env),
    logLevel: choiceOf(env, 'HUTCH_LOG_LEVEL', ['info', 'debug', 'warn', 'error']),
    logFormat: choiceOf(env, 'HUTCH_LOG_FORMAT', ['auto', 'text', 'json']),
    subnet: subnetFrom(env),
    allowNetworks: allowedFrom(env),
    caFile: textOf(env, 'HUTCH_CA_FILE') && path('HUTCH_CA_FILE', ''),
    sandboxProxy: urlOf(env, 'HUTCH_SANDBOX_PROXY'),
    sandboxNoProxy: listOf(env, 'HUTCH_SANDBOX_NO_PROXY'),
    egressResolvers: resolversFrom(env, 'HUTCH_EGRESS_RESOLVERS'),
    dnsResolvers: resolversFrom(env, 'HUTCH_DNS_RESOLVERS'),
    egressAddresses: egressAddressesFrom(env),
    egressProxy: egressProxyFrom(env),
    packages: packagesFrom(env),
    slotsAhead: integerOf(env, 'HUTCH_SLOTS_AHEAD', { fallback: 8, min: 0, max: 1_024 }),
    warm: warmFrom(env),
    warmDemand: warmDemandFrom(env),
    pidsLimit: integerOf(env, 'HUTCH_PIDS_LIMIT', { fallback: 4_096, min: 32, max: 4_194_304 }),
    userNamespaces: choiceOf(env, 'HUTCH_USER_NAMESPACES', ['auto', 'on', 'off']),
    diskQuota: choiceOf(env, 'HUTCH_DISK_QUOTA', ['auto', 'on', 'off']),
    diskReserveMb: integerOf(env, 'HUTCH_DISK_RESERVE_MB', { fallback: 0, min: 0, max: 1_048_576 }),
    prices: pricesFrom(env),
    quotas: quotasFrom(env),
    providers: originsFrom(env, 'HUTCH_PROVIDERS', 'https://api.openai.com'),
    bundleDir: path('HUTCH_BUNDLE_DIR', join(runtimeDir, 'bundle')),
    imagesDir: path('HUTCH_IMAGES_DIR', join(runtimeDir, 'images')),
    registries: registriesFrom(env),
    pullLimits: pullLimitsFrom(env),
    proxies: proxiesFrom(env),
  })
}
