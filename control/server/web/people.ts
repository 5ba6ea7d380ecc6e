/** What of a host is for people with browsers: who of them is let in, and the pages they see. */
import type { Dispatcher } from '../../../shared/http/dispatch.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import type { Gateway } from '../proxy/gateway/gateway.ts'
import { createLogins, type Logins } from '../proxy/gateway/logins.ts'
import { createNewcomers, type Newcomers } from '../proxy/gateway/newcomers.ts'
import { apiOrigin, type OriginOptions } from '../proxy/gateway/origins.ts'
import { recordsOf, type Records } from '../proxy/gateway/resolve.ts'
import type { DataPlane, Kind } from '../../core/records/kind.ts'
import type { Sealer } from '../../core/secrets/secrets.ts'
import type { Store } from '../../core/store/store.ts'
import type { Documentation } from '../proxy/gateway/documentation.ts'
import { documentation } from './explorer.ts'
import { createPages } from './pages.ts'

export interface People {
  readonly logins: Logins
  readonly records: Records
  readonly newcomers: Newcomers
  readonly admitted: Newcomers['admitted']
  /** Where browsers log in, for who came by this host name; without a slash at its end. */
  readonly apiOrigin: (host: string) => string
  readonly documentation: Documentation
  /** The host's own pages. */
  readonly pages: (gateway: Gateway) => Dispatcher
}

export interface PeopleDeps extends OriginOptions {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly store: Store
  readonly sealer: Sealer
  readonly rules: ReadonlyMap<string, Kind>
}

export const createPeople = (deps: PeopleDeps): People => {
  const { store, rules } = deps
  const newcomers = createNewcomers()
  const records = recordsOf(store)
  const planeOf = (kind: string) => {
    const { plural, dataPlane } = rules.get(kind) as Kind
    return { plural, dataPlane: dataPlane as DataPlane }
  }
  const logins = createLogins({ ...deps, planeOf })
  const { plural = '' } = [...rules.values()].find(({ dataPlane }) => dataPlane && !dataPlane.handled) ?? {}
  return {
    logins,
    records,
    newcomers,
    admitted: newcomers.admitted,
    documentation: documentation(kind => planeOf(kind).plural),
    apiOrigin: host => apiOrigin(host, deps),
    pages: gateway => createPages({ ...deps, gateway, logins, records, plural }),
  }
}
