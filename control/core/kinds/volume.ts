/** A volume: a disk that outlives the workload it is attached to. */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import { stateTable } from '../transitions/state-table.ts'
import { defineKind } from '../records/define-kind.ts'
import { statuses, type Consequence, type Kind, type Spec } from '../records/kind.ts'
import type { Resource } from '../store/store.ts'
import { mostSizeMb, needVolumes, type AttachDeps } from '../storage/volumes/attachments.ts'
import type { Templates } from '../storage/volumes/templates.ts'
import { fallbackMb, sizeMbOf, storedVolume, volumeKindName, volumeRates } from '../storage/volumes/records.ts'

const state = s.object({ attachedTo: s.string() })

/**
 * - `filled`: the contents of its template are in it     - `broke`: it cannot be made
 * - `served`: a host that stores volumes has taken over a record of one that stored none
 * - `grow`: it is to be larger
 */
const life = stateTable('DEPLOYED', {
  DEPLOYING: { filled: 'DEPLOYED', broke: 'FAILED', grow: 'DEPLOYING', delete: 'DELETING' },
  DEPLOYED: { grow: 'DEPLOYED', delete: 'DELETING' },
  FAILED: { served: 'DEPLOYED', grow: 'FAILED', delete: 'DELETING' },
  DELETING: { delete: 'DELETING' },
})

const pick = (from: unknown, names: readonly string[]): Record<string, unknown> => {
  const members = from as Readonly<Record<string, unknown>>
  return Object.fromEntries(names.filter(name => members[name] !== undefined).map(name => [name, members[name]]))
}

const refuse = (field: string, reason: string) => fail('invalid_argument', { field: `spec.${field}`, reason })

export interface VolumeDeps extends AttachDeps {
  /** Codes this host answers to; the first is the default and what `auto` means. */
  readonly regions: readonly string[]
  readonly templates: Templates
}

interface VolumeInput {
  readonly size?: number | null | undefined
  readonly region?: string | null | undefined
  readonly template?: string | null | undefined
}

const regionOf = (given: string | null | undefined, previous: string | undefined, regions: readonly string[]) => {
  const region = !given || given === 'auto' ? (previous ?? regions[0]) : given
  if (previous && region !== previous) throw refuse('region', `cannot be changed from "${previous}"`)
  if (region && !previous && !regions.includes(region))
    throw refuse('region', `"${region}" is none of ${[...regions, 'auto'].join(', ')}`)
  return region
}

const createSpec = async (input: VolumeInput, workspace: string, deps: VolumeDeps): Promise<Spec> => {
  const region = regionOf(input.region, undefined, deps.regions)
  const found = input.template ? await deps.templates.find(workspace, input.template) : undefined
  const size = input.size ?? found?.sizeMb ?? fallbackMb
  if (found && size < found.leastMb)
    throw refuse('size', `must be at least ${found.leastMb} MB to hold what is in ${found.template}`)
  await needVolumes(deps)
  await deps.needRoom(size)
  return { size, ...(region ? { region } : {}), ...(found ? { template: found.template } : {}) }
}

/** Its template as it is stored, or as somebody names it who says the same manifest again. */
const isOf = (given: string, stored = ''): boolean => {
  const [name, version] = given.split(':')
  return given === stored || (version === 'latest' && name === stored.split(':')[0])
}

const updateSpec = async (input: VolumeInput, previous: Resource, deps: VolumeDeps): Promise<Spec> => {
  const before = storedVolume(previous)
  const region = regionOf(input.region, before.region, deps.regions)
  const size = input.size ?? sizeMbOf(previous)
  const more = size - sizeMbOf(previous)
  if (more < 0) throw refuse('size', `cannot shrink from ${sizeMbOf(previous)} MB`)
  if (input.template && !isOf(input.template, before.template))
    throw refuse('template', before.template ? `cannot be changed from "${before.template}"` : 'cannot be set later')
  if (more > 0) await deps.needRoom(more)
  return { ...previous.spec, size, ...(region ? { region } : {}) }
}

const consequence = (previous: Resource, next: Spec): Consequence | undefined => {
  const size = sizeMbOf({ spec: next })
  return size > sizeMbOf(previous)
    ? { event: 'grow', message: `${size} MB, with the next start of its holder` }
    : undefined
}

/** Makes the kind; what its routes are declared from is the same for every host. */
export const volumeKind = (deps: VolumeDeps): Kind =>
  defineKind({
    kind: volumeKindName,
    plural: 'volumes',
    scope: 'volumes',
    spec: s.object({
      size: s.nullish(s.int().check(s.gte(1), s.lte(mostSizeMb))),
      region: s.nullish(text(63)),
      template: s.nullish(
        text(128).check(s.regex(/^([a-z0-9-]+:[A-Za-z0-9._-]+)?$/, 'must be a template as name:version')),
      ),
    }),
    answers: { more: { state } },
    life,
    statuses,
    initialStatus: spec => (storedVolume({ spec }).template ? 'DEPLOYING' : life.initial),
    lostSpec: () => ({ size: fallbackMb }),
    rates: volumeRates,
    showsHolder: true,
    present: (_found, { holder = '' }) => ({ state: { attachedTo: holder } }),
    paginated: true,
    byExternalId: true,
    createErrors: ['no_room'],
    pageItem: ({ metadata, spec, state: at, status }) => ({
      metadata: pick(metadata, ['name', 'displayName', 'externalId', 'createdAt', 'updatedAt']),
      spec: pick(spec, ['region', 'size']),
      state: at,
      status,
    }),
    keptWhileReferenced: true,
    accept: (input, previous, { workspace }) =>
      previous ? updateSpec(input ?? {}, previous, deps) : createSpec(input ?? {}, workspace, deps),
    consequence,
    example: {
      create: { metadata: { name: 'data', externalId: 'data-1' }, spec: { size: 2048 } },
      update: { metadata: { displayName: 'Data' }, spec: { size: 4096 } },
    },
  })
