/** The management API: every kind's endpoints, accounts, and what else is mounted, behind one dispatcher. */
import type { Clock } from '../../../shared/clock.ts'
import { dispatcher, type Dispatcher } from '../../../shared/http/dispatch.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import type { Bound } from '../../../shared/route.ts'
import type { Keys } from '../../core/access/keys.ts'
import type { Standing } from '../../core/access/standing.ts'
import type { Crud } from '../../core/records/crud.ts'
import type { Logins } from '../proxy/gateway/logins.ts'
import type { Store } from '../../core/store/store.ts'
import type { WireNames } from '../../base/wire/names.ts'
import { accessOf } from '../../core/access/access.ts'
import type { Denials } from '../access/audit/denials.ts'
import { auditRoutes } from './audit.ts'
import { accountRoutes } from './accounts.ts'
import type { PersonalKeys } from '../../core/access/personal-keys.ts'
import type { RemoveWorkspace } from '../../core/records/remove-workspace.ts'
import { createCaller } from './caller.ts'
import { catalogueRoutes } from './catalogues.ts'
import { driveKeyRoutes } from './drive-keys.ts'
import { placeRoutes, type Abilities } from './places.ts'
import type { Catalogues } from '../../core/catalogues/catalogues.ts'
import { leaveRoutes } from './leave.ts'
import { countImages } from '../../core/kinds/listed-images.ts'
import { imageRoutes, type ImageRoutesDeps } from './images.ts'
import { kindRoutes } from './kind-routes.ts'
import { openApiRoutes } from './openapi.ts'
import { outboundRoutes, type OutboundDeps } from './outbound.ts'
import { personalKeyRoutes } from './personal-keys.ts'
import { linkRoutes } from './links.ts'
import { mcpRoutes } from '../mcp/routes.ts'
import { apiVersions as versions } from '../../base/config/api-versions.ts'
import { managementTexts } from './texts.ts'
import { managementSurface } from './surface.ts'
import type { Builds } from '../../core/builds/builds.ts'
import { uploadRoutes } from './uploads.ts'
import { usageRoutes, type UsageDeps } from './usage.ts'
import type { VersionNames } from './versions.ts'
import { workspaceRoutes } from './workspaces.ts'

export interface ApiDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly names: WireNames
  /** Versions of the API beside ours: theirs → ours. */
  readonly apiVersions?: VersionNames['accepted'] | undefined
  readonly keys: Keys
  readonly standing: Standing
  readonly personalKeys: PersonalKeys
  readonly removeWorkspace: RemoveWorkspace
  readonly denials: Denials
  readonly catalogues: Catalogues
  /** What this host can do. */
  readonly abilities: Abilities
  readonly images: ImageRoutesDeps['images']
  readonly upkeep: ImageRoutesDeps['upkeep']
  /** What uploads are taken in by; none are where it is left out. */
  readonly builds?: Builds | undefined
  readonly drivers: UsageDeps['drivers']
  /** What can be done with each kind. */
  readonly verbs: readonly Crud[]
  /** What holds machines to their outbound policies; undefined where nothing does. */
  readonly outbound?: OutboundDeps['outbound']
  /** Further routes of the management API (billing). */
  readonly routes?: readonly Bound[]
  /** Checks every answer against its declaration; on in tests. */
  readonly checkReplies?: boolean
  readonly logRequests?: boolean
  /** Told of each connection that has brought a valid credential. */
  readonly admitted?: (connection: object | undefined) => void
  /** Logins of browsers. */
  readonly logins: Pick<Logins, 'link'>
  /** Where this host is reached from outside. */
  readonly publicUrl: () => string
}

export const createApi = (deps: ApiDeps): Dispatcher => {
  const { store, clock, ids, log, names, keys, standing, images, upkeep, catalogues, abilities, verbs, outbound } = deps
  const { drivers, removeWorkspace, denials, admitted, logins, routes = [], builds } = deps
  const { apiVersions, checkReplies = false, logRequests = false } = deps
  const kinds = verbs.map(({ kind }) => kind)
  const uploadHeaders = names.headers('Upload-Url')
  const counting = { countImages: (name: string) => countImages(images, name) }
  const uploading = builds && { builds, headers: uploadHeaders }
  const bounds: Bound[] = [
    ...verbs.flatMap(one => kindRoutes(one, uploading)),
    ...kinds.filter(({ workload }) => workload?.outbound).flatMap(kind => outboundRoutes(kind, { store, outbound })),
    ...kinds.filter(({ workload }) => workload?.storageMb).flatMap(kind => usageRoutes(kind, { store, drivers })),
    ...kinds
      .filter(({ dataPlane }) => dataPlane && !dataPlane.handled)
      .flatMap(kind => linkRoutes(kind, { store, logins })),
    ...accountRoutes({ store, quotas: abilities.quotas }),
    ...catalogueRoutes({ catalogues, publicUrl: deps.publicUrl }),
    ...placeRoutes({ catalogues, abilities, clock }),
    ...auditRoutes({ store, denials }),
    ...driveKeyRoutes(),
    ...leaveRoutes({ store, verbs }),
    ...workspaceRoutes({ store, clock, ids, kinds, names, removeWorkspace, ...counting }),
    ...imageRoutes({ images, upkeep, builds, uploadHeaders }),
    ...(builds ? uploadRoutes({ builds, store, kinds }) : []),
    ...personalKeyRoutes({ keys: deps.personalKeys }),
    ...routes,
    openApiRoutes(() => bounds, names),
    ...mcpRoutes({
      bounds: () => bounds,
      dispatcher: () => api,
      names,
      texts: managementTexts,
      version: versions.at(-1) as string,
    }),
  ]
  // A route that forgot to say who may call it stops the start, not the first caller.
  for (const { route } of bounds) accessOf(route)
  const caller = createCaller({ keys, tenants: store.tenants, names })
  const surface = managementSurface({
    caller,
    keys,
    standing,
    clock,
    names,
    idle: new Set(abilities.disks ? [] : ['spec.runtime.storageMb']),
    admitted,
    denials,
    publicUrl: deps.publicUrl,
    apiVersions,
    checkReplies,
    logRequests,
  })
  const api = dispatcher(bounds, surface, { log, ids, elapsed: () => clock.elapsed() })
  return api
}
