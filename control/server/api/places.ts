/** Where this host is and what it can do: its regions, addresses and features. */
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import { handle, type Bound } from '../../../shared/route.ts'
import type { Catalogues } from '../../core/catalogues/catalogues.ts'
import { getConfiguration, listLocations, listPublicIps, listFeatures, getFeature } from './place-declarations.ts'

/** What is known of this host itself. */
export interface Abilities {
  /** Region codes that it answers to, the default first. */
  readonly regions: readonly string[]
  /** Disks of sandboxes have an end. */
  readonly disks: boolean
  /** Drives can be mounted. */
  readonly drives: boolean
  /** Outbound policies are held to. */
  readonly outboundPolicies: boolean
  /** Addresses that egress gateways leave from. */
  readonly egressAddresses: readonly string[]
  /** What an account may have, by name. */
  readonly quotas: Readonly<Record<string, number>>
}

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
          egressAvailable: abilities.egressAddresses.length > 0,
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
