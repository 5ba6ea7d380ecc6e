/** The endpoints of regions, addresses and features as declared; `places.ts` answers them. */
import { route } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import { tenantQuery } from './paging.ts'

const common = (scope: string) => ({
  family: 'places',
  extra: { access: { scope, role: 'member' } satisfies Access },
})

const query = s.object(tenantQuery)
const named = s.object({ name: s.string(), displayName: s.string() })

export const getConfiguration = route('GET /v0/configuration', {
  ...common('configurations:list'),
  query,
  id: 'configuration.get',
  summary: 'Answers the regions of this host and what is possible in each',
  returns: s.object({
    regions: s.array(
      s.object({
        name: s.string(),
        allowed: s.string(),
        location: s.string(),
        country: s.string(),
        continent: s.string(),
        infoGeneration: s.string(),
        drivesAvailable: s.boolean(),
        egressAvailable: s.boolean(),
        proxyAvailable: s.boolean(),
        mk31Available: s.boolean(),
      }),
    ),
    countries: s.array(named),
    continents: s.array(named),
    privateLocations: s.array(s.object({ name: s.string() })),
    detectedRegion: s.string(),
  }),
})

export const listLocations = route('GET /v0/locations', {
  ...common('locations:list'),
  query,
  id: 'locations.list',
  summary: 'Lists where resources can be',
  returns: s.array(
    s.object({
      region: s.string(),
      location: s.string(),
      country: s.string(),
      continent: s.string(),
      status: s.literal('healthy'),
      flavors: s.array(s.object({ name: s.string(), type: s.literal('cpu') })),
    }),
  ),
})

export const listPublicIps = route('GET /v0/publicIps', {
  ...common('admin'),
  query: s.object({ ...tenantQuery, region: s.optional(s.string()) }),
  id: 'publicIps.list',
  summary: 'Names the addresses from which traffic of each region goes out, as the operator lists them',
  returns: s.record(
    s.string(),
    s.object({ description: s.string(), ipv4Cidrs: s.array(s.string()), ipv6Cidrs: s.array(s.string()) }),
  ),
})

export const listFeatures = route('GET /v0/features', {
  ...common('featureFlags:list'),
  query,
  id: 'features.list',
  summary: 'Lists the features that are on',
  returns: s.object({ features: s.record(s.string(), s.literal(true)) }),
})

export const getFeature = route('GET /v0/features/:featureKey', {
  ...common('featureFlags:get'),
  params: s.object({ featureKey: s.string() }),
  query: s.object({ ...tenantQuery, account: s.optional(s.string()) }),
  id: 'features.get',
  summary: 'Answers whether a feature is on',
  returns: s.object({
    featureKey: s.string(),
    enabled: s.boolean(),
    variant: s.string(),
    payload: s.record(s.string(), s.unknown()),
    evaluatedAt: s.string(),
  }),
  errors: ['not_found'],
})
