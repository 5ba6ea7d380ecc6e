/** What may leave a sandbox, and what programs in it are told of the way out. */
import type { Workload } from '../../reconcile/rules.ts'
import type { Sealer } from '../../secrets.ts'
import { storedSandbox, type StoredSandbox } from '../stored.ts'
import { alwaysBypassed, policyOf } from './policy.ts'

export const outboundOf =
  (sealer: Sealer): NonNullable<Workload['outbound']> =>
  owner => {
    const { held, network } = storedSandbox(owner)
    if (!held) return undefined
    return { version: JSON.stringify(network ?? {}), open: () => policyOf(network, sealer) }
  }

/** The way out of this host's sandboxes. */
export interface WayOut {
  /** `http://address:port`. */
  readonly proxyUrl: string
  /** PEM of the authorities that programs have to trust. */
  readonly trusted: string
}

const caFile = 'hutch-egress-ca.pem'
/** Where the daemon puts the image's authorities and ours together. */
const mergedCa = '/etc/ssl/certs/sandbox-ca-bundle.crt'

/** For tools that know a file and no variable. */
const wgetFile = 'hutch-wgetrc'
const aptFile = 'hutch-apt.conf'

export const etcFiles = ({ trusted }: WayOut): Record<string, string> => ({
  [caFile]: trusted,
  [wgetFile]: `ca_certificate = ${mergedCa}\n`,
  [aptFile]: `Acquire::https::CaInfo "${mergedCa}";\n`,
})

/** Variables for programs; the daemon adds those for curl, Python's requests, Node and OpenSSL from the first one. */
export const environmentFor = ({ proxyUrl }: WayOut, { network }: StoredSandbox): Record<string, string> => {
  const past = [...alwaysBypassed, ...(network?.proxy?.bypass ?? [])].join(',')
  const both = (name: string, value: string) => ({ [name]: value, [name.toLowerCase()]: value })
  return {
    ...both('HTTP_PROXY', proxyUrl),
    ...both('HTTPS_PROXY', proxyUrl),
    ...both('NO_PROXY', past),
    SANDBOX_EXTRA_CA_CERTS: `/etc/${caFile}`,
    GIT_SSL_CAINFO: mergedCa,
    PIP_CERT: mergedCa,
    CARGO_HTTP_CAINFO: mergedCa,
    AWS_CA_BUNDLE: mergedCa,
    WGETRC: `/etc/${wgetFile}`,
    APT_CONFIG: `/etc/${aptFile}`,
    DENO_CERT: `/etc/${caFile}`,
  }
}
