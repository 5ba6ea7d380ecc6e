/** Where the certificates of the main listener come from: the operator's files first, then an authority. */
import { isIP } from 'node:net'
import type { Clock } from '../../../shared/clock.ts'
import type { Closing } from '../../../shared/closing.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import { openAcme, type Acme } from './acme/acme.ts'
import { createChallenges, type Challenges } from './acme/challenges.ts'
import type { Config } from '../../base/config.ts'
import type { Sealer } from '../../core/secrets/secrets.ts'
import { openCertificates, type Certificates } from './certificates.ts'
import type { Pair } from './pairs.ts'

export interface SourceDeps {
  readonly clock: Clock
  readonly log: Log
  readonly ids: Ids
  readonly sealer: Sealer
  /** Whether something is served at a host name. */
  readonly isServed: (host: string) => Promise<boolean>
}

export interface Sources {
  find(name: string): Promise<Pair | undefined>
  /** Calls `use` with the one for clients that name no host, now and when there is another. */
  onFirst(use: (pair: Pair) => void): void
  readonly challenges: Challenges
  /** The listeners are there. */
  begin(): void
}

/** All names below a region are one certificate where the DNS can show whose they are. */
const ownNames = ({ publicUrl, sandboxDomain, previewDomain, regions, tls }: Config): string[] => {
  const host = publicUrl ? new URL(publicUrl).hostname : ''
  const domains = [sandboxDomain, previewDomain].filter(Boolean)
  const wildcards = tls.acme.challenges.includes('dns-01')
    ? domains.flatMap(domain => regions.map(region => `*.${region}.${domain}`))
    : []
  return [...(host && !isIP(host) ? [host] : []), ...wildcards]
}

const openFiles = async ({ tls }: Config, deps: SourceDeps, changed: () => void, closer: Closing) => {
  if (!tls.cert && !tls.dir) return undefined
  const files = await openCertificates(tls, deps, changed)
  closer.add('certificates', files.close)
  return files
}

const openAuthority = async (
  config: Config,
  deps: SourceDeps,
  more: { readonly files: Certificates | undefined; readonly challenges: Challenges; readonly changed: () => void },
  closer: Closing,
): Promise<Acme | undefined> => {
  const { tls, caFile, dataDir } = config
  if (!tls.acme.directory) return undefined
  const { files, challenges, changed } = more
  const own = ownNames(config).filter(name => !files?.find(name))
  const acme = await openAcme({ ...deps, config: tls.acme, caFile, dataDir, own, challenges, changed })
  closer.add('acme', acme.close)
  return acme
}

export const openSources = async (config: Config, deps: SourceDeps, closer: Closing): Promise<Sources> => {
  const challenges = createChallenges()
  let acme: Acme | undefined
  let use: (pair: Pair) => void = () => undefined
  const changed = (): void => {
    const first = files?.first() ?? acme?.first()
    if (first) use(first)
  }
  const files = await openFiles(config, deps, changed, closer)
  acme = await openAuthority(config, deps, { files, challenges, changed }, closer)
  return {
    challenges,
    find: async name => files?.find(name) ?? acme?.certificateFor(name),
    onFirst(given) {
      use = given
      changed()
    },
    begin: () => acme?.begin(),
  }
}
