/** What may leave a sandbox, and what programs in it are told of the way out. */
import type { Workload } from '../../../transitions/rules.ts'
import type { Sealer } from '../../../secrets/secrets.ts'
import { storedSandbox, type StoredSandbox } from '../stored.ts'
import { alwaysBypassed, policyOf } from './policy.ts'
import { checkStored } from './stored.ts'

export const outboundOf =
  (sealer: Sealer): NonNullable<Workload['outbound']> =>
  owner => {
    const { held, network, vpc = 'default' } = storedSandbox(owner)
    if (!held) return undefined
    const { workspace } = owner
    const gateway = network?.egress?.gateway
    return {
      version: JSON.stringify(network ?? {}),
      open: () => policyOf(checkStored(network), sealer),
      // The one that everything is in connects nothing: sandboxes of a workspace need not trust each other.
      ...(vpc === 'default' ? {} : { network: `${workspace}/${vpc}` }),
      ...(gateway ? { leavesBy: `${workspace}/default/${gateway}` } : {}),
    }
  }

/** What programs in a sandbox are told of the way out: of this host's proxy, or of the network that the host is in. */
export interface WayOut {
  /** `http://address:port`; '' for none. */
  readonly proxyUrl: string
  /** PEM of the authorities that programs have to trust besides their own; '' for none. */
  readonly trusted: string
  /** What is reached past the proxy, besides what always is. */
  readonly noProxy?: readonly string[]
}

const caFile = 'hutch-egress-ca.pem'
/** Where the daemon puts the image's authorities and ours together. */
const mergedCa = '/etc/ssl/certs/sandbox-ca-bundle.crt'

/** For tools that know a file and no variable. */
const wgetFile = 'hutch-wgetrc'
const aptFile = 'hutch-apt.conf'

/** Files of /etc for them. */
export const etcFiles = ({ trusted }: WayOut): Record<string, string> =>
  trusted
    ? {
        [caFile]: trusted,
        [wgetFile]: `ca_certificate = ${mergedCa}\n`,
        [aptFile]: `Acquire::https::CaInfo "${mergedCa}";\n`,
      }
    : {}

/** The daemon adds those for curl, Python's requests, Node and OpenSSL from the first one. */
const trustVariables = {
  SANDBOX_EXTRA_CA_CERTS: `/etc/${caFile}`,
  GIT_SSL_CAINFO: mergedCa,
  PIP_CERT: mergedCa,
  CARGO_HTTP_CAINFO: mergedCa,
  AWS_CA_BUNDLE: mergedCa,
  WGETRC: `/etc/${wgetFile}`,
  APT_CONFIG: `/etc/${aptFile}`,
  DENO_CERT: `/etc/${caFile}`,
}

const both = (name: string, value: string) => ({ [name]: value, [name.toLowerCase()]: value })

/** Variables for them. */
export const environmentFor = (
  { proxyUrl, trusted, noProxy = [] }: WayOut,
  { network, held }: Pick<StoredSandbox, 'network' | 'held'>,
): Record<string, string> => {
  const past = [...alwaysBypassed, ...noProxy, ...(network?.proxy?.bypass ?? [])].join(',')
  const proxy = proxyUrl
    ? { ...both('HTTP_PROXY', proxyUrl), ...both('HTTPS_PROXY', proxyUrl), ...both('NO_PROXY', past) }
    : {}
  // Node reads the others only then; under a policy every way leads to the proxy.
  const node = proxyUrl && !held ? { NODE_USE_ENV_PROXY: '1' } : {}
  return { ...proxy, ...node, ...(trusted ? trustVariables : {}) }
}
