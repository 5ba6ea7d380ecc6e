/** Whether what is deployed may run on this box: any of the policies of a type that bind it, and all types. */
import { fail } from '../../../shared/errors.ts'
import type { PlaceConfig } from '../../base/config/place.ts'
import type { Around, Spec } from '../records/kind.ts'
import type { Store } from '../store/store.ts'

/** What the operator says of this box. */
export interface Box extends PlaceConfig {
  readonly regions: readonly string[]
}

interface PolicySpec {
  readonly type?: string
  readonly resourceTypes?: readonly string[] | null
  readonly locations?: readonly { readonly name: string; readonly type?: string | null }[] | null
  readonly flavors?: readonly { readonly name?: string | null; readonly type?: string | null }[] | null
}

interface Bound {
  readonly name: string
  readonly spec: PolicySpec
}

const isIn = (
  { regions, country, continent }: Box,
  region: string | undefined,
  place: string,
  type: string,
): boolean => {
  const name = place.toLowerCase()
  if (type === 'country') return name === country
  if (type === 'continent') return name === continent
  return region && region !== 'auto' ? name === region : regions.includes(name)
}

const allowsLocation = (box: Box, region: string | undefined, { spec }: Bound): boolean =>
  (spec.locations ?? []).some(({ name, type }) => isIn(box, region, name, type ?? 'location'))

const allowsFlavor = ({ flavors }: Box, { spec }: Bound): boolean =>
  (spec.flavors ?? []).some(({ name, type }) =>
    flavors.some(
      flavor => (!type || flavor.startsWith(`${type}:`)) && (!name || flavor === `${type ?? 'cpu'}:${name}`),
    ),
  )

const bindsKind = ({ spec: { resourceTypes } }: Bound, kind: string): boolean =>
  !resourceTypes || resourceTypes.length === 0 || resourceTypes.includes(kind)

/** Throws `policy_violation` naming the policies of the type that nothing of this box satisfies. */
const needOne = (policies: readonly Bound[], what: string, allows: (policy: Bound) => boolean): void => {
  if (policies.length === 0 || policies.some(allows)) return
  const names = policies.map(({ name }) => `"${name}"`).join(', ')
  throw fail('policy_violation', { reason: `${what} of this host is none that policy ${names} allows` })
}

/** `kind` is the name of the policies' kind. Those that are not there are refused elsewhere. */
export const binding =
  (
    { store, box }: { readonly store: Pick<Store, 'resources'>; readonly box: Box },
    [kind, policyKind]: readonly [string, string],
  ) =>
  async (spec: Spec, { workspace }: Pick<Around, 'workspace'>): Promise<void> => {
    const names = (spec['policies'] ?? []) as readonly string[]
    const found = await Promise.all(
      names.map(name => store.resources.get({ kind: policyKind, workspace, parent: '', name })),
    )
    const bound = found.flatMap(record => (record ? [{ name: record.name, spec: record.spec as PolicySpec }] : []))
    const ofType = (type: string) => bound.filter(one => one.spec.type === type && bindsKind(one, kind))
    const region = spec['region'] as string | undefined
    needOne(ofType('location'), 'the location', policy => allowsLocation(box, region, policy))
    needOne(ofType('flavor'), 'the flavor', policy => allowsFlavor(box, policy))
  }
