/** Where this host is and what it can do: its regions, addresses and features. */
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import { handle, route, type Bound } from '../../shared/route.ts'
import { s } from '../../shared/schema.ts'
import type { Access } from '../auth/access.ts'
import type { Catalogues } from '../catalogues/catalogues.ts'
import { tenantQuery } from './paging.ts'

/** What is known of this host itself. */
export interface Abilities {
  /** Region codes that it answers to, the default first. */
  readonly regions: readonly string[]
  /** Drives can be mounted. */
  readonly drives: boolean
  /** Outbound policies are held to. */
  readonly outboundPolicies: boolean
}

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

interface Deps {
  readonly catalogues: Catalogues
  readonly abilities: Abilities
  readonly clock: Clock
}

/** The regions of this host with what the operator says of them. */
const placesOf = async ({ catalogues, abilities }: Deps) => {
  const told = await catalogues.read('regions')
  return abilities.regions.map(region => {
    const { location = region, country = '', continent = '' } = told.find(({ name }) => name === region) ?? {}
    return { region, location, country, continent }
  })
}

const distinct = (codes: readonly string[]) =>
  [...new Set(codes)].filter(Boolean).map(name => ({ name, displayName: name.toUpperCase() }))

/** Flavors are named as policies name them. */
const flavor = { name: process.arch === 'x64' ? 'x86' : process.arch, type: 'cpu' as const }

/** Features that follow from what this host can do; the operator's own win. */
const featuresOf = async ({ catalogues, abilities }: Deps) => {
  const own = [
    { name: 'drives', enabled: abilities.drives },
    { name: 'proxy', enabled: abilities.outboundPolicies },
  ]
  const told = await catalogues.read('features')
  return [...own.filter(({ name }) => !told.some(other => other.name === name)), ...told]
}

export const placeRoutes = (deps: Deps): Bound[] => {
  const { catalogues, abilities, clock } = deps
  return [
    handle(getConfiguration, async () => {
      const places = await placesOf(deps)
      return {
        regions: places.map(({ region: name, ...where }) => ({
          name,
          allowed: 'true',
          ...where,
          infoGeneration: 'mk3',
          drivesAvailable: abilities.drives,
          egressAvailable: false,
          proxyAvailable: abilities.outboundPolicies,
          mk31Available: false,
        })),
        countries: distinct(places.map(({ country }) => country)),
        continents: distinct(places.map(({ continent }) => continent)),
        privateLocations: [],
        detectedRegion: abilities.regions[0] ?? '',
      }
    }),
    handle(listLocations, async () =>
      (await placesOf(deps)).map(place => ({ ...place, status: 'healthy' as const, flavors: [flavor] })),
    ),
    handle(listPublicIps, async ({ query: { region } }) =>
      Object.fromEntries(
        (await catalogues.read('public-ips'))
          .filter(({ name }) => !region || name === region)
          .map(({ name, description = '', ipv4Cidrs = [], ipv6Cidrs = [] }) => [
            name,
            { description, ipv4Cidrs, ipv6Cidrs },
          ]),
      ),
    ),
    handle(listFeatures, async () => ({
      features: Object.fromEntries(
        (await featuresOf(deps)).filter(({ enabled }) => enabled).map(({ name }) => [name, true as const]),
      ),
    })),
    handle(getFeature, async ({ params: { featureKey } }) => {
      const found = (await featuresOf(deps)).find(({ name }) => name === featureKey)
      if (!found) throw fail('not_found', { kind: 'feature', name: featureKey })
      const {
        name,
        enabled,
        variant = enabled ? 'on' : 'off',
        payload = {},
      } = { variant: undefined, payload: undefined, ...found }
      return { featureKey: name, enabled, variant, payload, evaluatedAt: new Date(clock.now()).toISOString() }
    }),
  ]
}
