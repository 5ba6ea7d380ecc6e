/** The previews of a host. */
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Clock } from '../../../../shared/clock.ts'
import { wireNames as spellings } from '../../../../shared/wire-names.ts'
import type { Keys } from '../../../core/access/keys.ts'
import type { Standing } from '../../../core/access/standing.ts'
import type { Connections } from '../../../core/channel/connections.ts'
import type { Config } from '../../../base/config.ts'
import { speaksTls } from '../../../base/config/tls.ts'
import { forwarder } from '../gateway/forward.ts'
import { identityHeaders } from '../gateway/identity.ts'
import type { Reach } from '../../../core/machines/reach.ts'
import type { Kind } from '../../../core/records/kind.ts'
import type { Store } from '../../../core/store/store.ts'
import type { WireNames } from '../../../base/wire/names.ts'
import type { Domains } from './domains.ts'
import { createPreviews, type Previews } from './serve.ts'

type PreviewConfig = Pick<Config, 'regions' | 'previewDomain' | 'publicUrl' | 'tls' | 'wireNames'>

export const openPreviews = (
  config: PreviewConfig,
  deps: {
    readonly store: Store
    readonly names: WireNames
    readonly connections: Connections
    readonly clock: Clock
    readonly ids: Ids
    readonly log: Log
    readonly domains: Domains
    readonly kinds: ReadonlyMap<string, Kind>
    readonly hold: Reach['hold']
    readonly holdNow: Reach['holdNow']
    readonly admitted: (connection: object) => void
    readonly standing: Standing
    readonly keys: Pick<Keys, 'verify' | 'useAgain'>
  },
): Previews => {
  const { names, connections } = deps
  const { regions, previewDomain: domain, wireNames, publicUrl, tls } = config
  const isSecure = publicUrl.startsWith('https:') || speaksTls(tls)
  const header = spellings(wireNames).header
  const fallback = {
    flag: header('fallback'),
    preview: header('fallback-preview'),
    domain: header('fallback-domain'),
  }
  const options = {
    fallback,
    regions,
    domain,
    isSecure,
    ourHeaders: header(''),
    words: wireNames.map(({ header }) => header),
    tokens: {
      headers: names.previewTokenHeaders,
      queries: names.previewTokenQueries,
      // Without TLS no browser takes the prefix.
      cookies: names.previewCookies.map(name => (isSecure ? `__Host-${name}` : name)),
    },
    withheld: [
      ...names.credentialHeaders.filter(name => name !== 'authorization'),
      ...identityHeaders(spellings(wireNames)),
      // What a client says of it is nothing.
      ...Object.values(fallback).flat(),
    ],
  }
  return createPreviews(options, { ...deps, forwarder: forwarder(connections) })
}
