/** The management API: every kind's endpoints, accounts, and what else is mounted, behind one dispatcher. */
import type { Clock } from '../../shared/clock.ts'
import { dispatcher, type Dispatcher } from '../../shared/http/dispatch.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import type { Bound } from '../../shared/route.ts'
import { crud, type Crud } from '../resources/crud.ts'
import type { Kind } from '../resources/kind.ts'
import { kindRoutes } from './kind-routes.ts'
import type { Resource, Store } from '../store/store.ts'
import { accountRoutes } from './accounts.ts'
import { createAuth, type Auth } from './auth.ts'
import type { Cursors } from '../wire/cursors.ts'
import { openApiRoutes } from './openapi.ts'
import { managementSurface } from './surface.ts'
import type { WireNames } from '../wire/names.ts'
import { workspaceRoutes } from './workspaces.ts'

export interface ApiDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly names: WireNames
  readonly cursors: Cursors
  readonly kinds: readonly Kind[]
  /** Tells the reconciler of `kind` that a resource changed or went. */
  poke(kind: string, uid: string): void
  /** Absolute address of a resource's data plane, without a trailing slash. */
  url(resource: Resource): string | undefined
  /** Further routes of the management API (billing). */
  readonly routes?: readonly Bound[]
  /** Checks every answer against its declaration; on in tests. */
  readonly checkReplies?: boolean
  readonly logRequests?: boolean
}

export interface Api {
  readonly dispatcher: Dispatcher
  /** The same verbs without HTTP, by kind; the library uses these. */
  readonly verbs: ReadonlyMap<string, Crud>
  /** Credentials, for the other surfaces of this host. */
  readonly auth: Auth
}

/** Billing plan shown in metadata: there is one, the box itself. */
const plan = 'self-hosted'

export const createApi = (deps: ApiDeps): Api => {
  const { store, clock, ids, log, names, kinds } = deps
  const auth = createAuth({ tenants: store.tenants, clock, names })
  const verbs = new Map(kinds.map(kind => [kind.kind, crud(kind, { ...deps, plan })]))
  const bounds: Bound[] = [
    ...[...verbs.values()].flatMap(kindRoutes),
    ...accountRoutes({ store }),
    ...workspaceRoutes({ store, clock, ids, kinds }),
    ...(deps.routes ?? []),
    openApiRoutes(() => bounds),
  ]
  const surface = managementSurface({
    auth,
    clock,
    names,
    ...(deps.checkReplies === undefined ? {} : { checkReplies: deps.checkReplies }),
    ...(deps.logRequests === undefined ? {} : { logRequests: deps.logRequests }),
  })
  return { verbs, auth, dispatcher: dispatcher(bounds, surface, { log, ids, elapsed: () => clock.elapsed() }) }
}
