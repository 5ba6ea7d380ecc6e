/** The names of all variables, so that a misspelt one is said instead of being ignored. */
import { closest } from '../../../shared/closest.ts'
import { refuse, type Environment } from './values.ts'

/** Read by the server. */
export const serverNames = [
  'HUTCH_HOST',
  'HUTCH_PORT',
  'HUTCH_PUBLIC_URL',
  'HUTCH_TLS_CERT',
  'HUTCH_TLS_KEY',
  'HUTCH_TLS_DIR',
  'HUTCH_HTTP_PORT',
  'HUTCH_HSTS_SECONDS',
  'HUTCH_ACME_DIRECTORY',
  'HUTCH_ACME_EMAIL',
  'HUTCH_ACME_CHALLENGES',
  'HUTCH_ACME_DNS_HOOK',
  'HUTCH_ACME_DNS_SERVER',
  'HUTCH_ACME_DNS_KEY',
  'HUTCH_ACME_DNS_SECONDS',
  'HUTCH_TRUSTED_PROXIES',
  'HUTCH_OIDC_ISSUER',
  'HUTCH_OIDC_CLIENT_ID',
  'HUTCH_OIDC_SECRET_FILE',
  'HUTCH_OIDC_NAME',
  'HUTCH_OIDC_DOMAINS',
  'HUTCH_OIDC_JOIN',
  'HUTCH_SMTP_URL',
  'HUTCH_SMTP_PASSWORD_FILE',
  'HUTCH_SMTP_FROM',
  'HUTCH_CLIENT_HOSTS',
  'HUTCH_SANDBOX_DOMAIN',
  'HUTCH_PREVIEW_DOMAIN',
  'HUTCH_DATA_DIR',
  'HUTCH_DRIVES_DIR',
  'HUTCH_DRIVER',
  'HUTCH_RUNTIME',
  'HUTCH_WIRE_NAMES',
  'HUTCH_WIRE_PROFILE',
  'HUTCH_REGIONS',
  'HUTCH_STANDBY_SECONDS',
  'HUTCH_RECLAIM_SECONDS',
  'HUTCH_STARTUP_SECONDS',
  'HUTCH_REMOVE_SECONDS',
  'HUTCH_LOCATION',
  'HUTCH_FLAVORS',
  'HUTCH_CALLBACK_ORIGINS',
  'HUTCH_LOG_LEVEL',
  'HUTCH_LOG_FORMAT',
  'HUTCH_SUBNET',
  'HUTCH_ALLOW_NETWORKS',
  'HUTCH_SANDBOX_PROXY',
  'HUTCH_SANDBOX_NO_PROXY',
  'HUTCH_EGRESS_RESOLVERS',
  'HUTCH_DNS_RESOLVERS',
  'HUTCH_EGRESS_ADDRESSES',
  'HUTCH_EGRESS_PROXY',
  'HUTCH_PACKAGE_HOSTS',
  'HUTCH_PACKAGE_CACHE_MB',
  'HUTCH_SLOTS_AHEAD',
  'HUTCH_WARM',
  'HUTCH_WARM_DEMAND',
  'HUTCH_PIDS_LIMIT',
  'HUTCH_USER_NAMESPACES',
  'HUTCH_DISK_QUOTA',
  'HUTCH_DISK_RESERVE_MB',
  'HUTCH_PRICES',
  'HUTCH_QUOTAS',
  'HUTCH_PROVIDERS',
  'HUTCH_BUNDLE_DIR',
  'HUTCH_IMAGES_DIR',
  'HUTCH_REGISTRIES',
  'HUTCH_IMAGE_ALIASES',
  'HUTCH_IMAGE_MAX_MB',
  'HUTCH_IMAGE_PULLS',
  'HUTCH_IMAGE_PULL_SECONDS',
] as const

/** Read by the set-up scripts, which run in the same environment; the first by the server, too. */
const setupNames = ['HUTCH_CA_FILE', 'HUTCH_BUNDLE_PLAIN']

/** Read by a daemon that runs without a server. */
const daemonNames = [
  'HUTCH_STATE_DIR',
  'HUTCH_UPGRADE_DIR',
  'HUTCH_RELEASES_URL',
  'HUTCH_DRIVES_ROOT',
  'HUTCH_NODE_INTERNALS_OFF',
]

/** Throws `invalid_argument` for the first `HUTCH_…` that nobody reads, with the name that was probably meant. */
export const refuseUnknown = (env: Environment): void => {
  const known = [...serverNames, ...setupNames]
  for (const name of Object.keys(env)) {
    if (!/^HUTCH_/i.test(name) || known.includes(name)) continue
    if (daemonNames.includes(name))
      throw refuse(name, 'is read by hutchd when it runs alone, not by the server; unset it')
    const near = closest(name.toUpperCase(), known)
    throw refuse(
      name,
      near
        ? `is not a variable of Hutch; did you mean ${near}?`
        : `is not a variable of Hutch; there are ${known.join(', ')}`,
    )
  }
}
