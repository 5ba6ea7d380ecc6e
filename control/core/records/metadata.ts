/** The metadata of resources: what may be sent, what is stored, what is answered. */
import { s, text, type Out, type Shape } from '../../../shared/schema.ts'
import type { Resource, StoredMetadata } from '../store/store.ts'

/** At most this many labels on one resource. */
const maxLabels = 128

export const labelsInput = s
  .record(text(256), text(1024))
  .check(s.refine(labels => Object.keys(labels).length <= maxLabels, `must have at most ${maxLabels} entries`))

const taken = {
  displayName: s.nullish(text(63)),
  externalId: s.nullish(
    s.string().check(
      s.maxLength(64),
      s.refine(value => /^[A-Za-z0-9-]*$/.test(value), 'must contain only letters, digits and dashes'),
    ),
  ),
  labels: s.nullish(labelsInput),
}

const shown = {
  sharedFromWorkspace: s.optional(s.string()),
  plan: s.optional(s.string()),
  url: s.optional(s.string()),
  createdAt: s.string(),
  updatedAt: s.string(),
  createdBy: s.string(),
  updatedBy: s.string(),
}

/** What of the common metadata a kind has besides name and workspace. */
export interface MetadataShape {
  readonly takes: readonly (keyof typeof taken)[]
  readonly shows: readonly (keyof typeof shown)[]
  /** Members that hold the names of what it lives inside, outermost first. */
  readonly outer: readonly string[]
  /** Members that are the same for all. */
  readonly fixed: Readonly<Record<string, string>>
}

export const commonMetadata: MetadataShape = {
  takes: ['displayName', 'externalId', 'labels'],
  shows: ['plan', 'url', 'createdAt', 'updatedAt', 'createdBy', 'updatedBy'],
  outer: [],
  fixed: {},
}

/** Metadata of what lives inside something else: it names that, and has no labels of its own. */
export const innerMetadata = (given: Pick<MetadataShape, 'outer'> & Partial<MetadataShape>): MetadataShape => ({
  takes: ['displayName'],
  shows: ['createdAt', 'updatedAt', 'createdBy', 'updatedBy'],
  fixed: {},
  ...given,
})

const pick = <T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> =>
  Object.fromEntries(keys.map(key => [key, from[key]])) as Pick<T, K>

/** Metadata as sent. Read-only members, which clients send back in full updates, are let through and ignored. */
export const metadataInput = s.object({ name: s.nullish(text(256)), ...taken })

export type MetadataInput = Out<typeof metadataInput>

/** What may be sent of a kind's metadata; what it does not have is ignored. */
export const metadataInputOf = ({ takes }: MetadataShape) =>
  s.object({ name: s.nullish(text(256)), ...(pick(taken, takes) as Partial<typeof taken> as typeof taken) })

/**
 * Metadata to store. Members that are absent keep their value; `null`, `''` or `{}` clears them, but an external id
 * is kept whenever it is left out and is cleared by `''` only.
 */
export const mergeMetadata = (
  input: MetadataInput | undefined,
  previous: StoredMetadata | undefined,
  actor: string,
): StoredMetadata => {
  const displayName = input?.displayName === undefined ? previous?.displayName : (input.displayName ?? '')
  const externalId = input?.externalId ?? previous?.externalId
  const labels = input?.labels === undefined ? previous?.labels : (input.labels ?? {})
  return {
    ...(displayName ? { displayName } : {}),
    ...(externalId ? { externalId } : {}),
    ...(labels && Object.keys(labels).length > 0 ? { labels } : {}),
    createdBy: previous?.createdBy ?? actor,
    updatedBy: actor,
  }
}

export const metadataAnswer = s.object({
  name: s.string(),
  displayName: s.optional(s.string()),
  externalId: s.optional(s.string()),
  labels: s.optional(s.record(s.string(), s.string())),
  workspace: s.string(),
  ...shown,
})

const answerMembers = {
  displayName: s.optional(s.string()),
  externalId: s.optional(s.string()),
  labels: s.optional(s.record(s.string(), s.string())),
}

/** Shape of a kind's metadata as answered. */
export const metadataAnswerOf = ({ takes, shows, outer, fixed }: MetadataShape) =>
  s.object({
    name: s.string(),
    workspace: s.string(),
    ...pick(answerMembers, takes),
    ...pick(shown, shows),
    ...Object.fromEntries([...outer, ...Object.keys(fixed)].map((name): [string, Shape] => [name, s.string()])),
  }) as unknown as typeof metadataAnswer

/** Metadata as answered; times are ISO 8601 in UTC. */
export const presentMetadata = (
  resource: Resource,
  shape: MetadataShape,
  facts: { readonly url: string | undefined; readonly plan: string },
): Out<typeof metadataAnswer> => {
  const { name, workspace, parent, metadata } = resource
  const { displayName, externalId, labels, createdBy, updatedBy } = metadata
  const all = {
    ...(displayName ? { displayName } : {}),
    ...(externalId ? { externalId } : {}),
    ...(labels ? { labels } : {}),
    plan: facts.plan,
    ...(facts.url ? { url: facts.url } : {}),
    createdAt: new Date(resource.createdAt).toISOString(),
    updatedAt: new Date(resource.updatedAt).toISOString(),
    createdBy,
    updatedBy,
  }
  // Every row of most listings has it all: nothing is picked where nothing is left out.
  if (shape === commonMetadata) return { name, ...all, workspace }
  const { takes, shows, outer, fixed } = shape
  const members = [...takes, ...shows].filter(member => Object.hasOwn(all, member))
  const parents = parent.split('/')
  return {
    name,
    ...pick(all, members as (keyof typeof all)[]),
    workspace,
    ...Object.fromEntries(outer.map((member, index) => [member, parents[index] ?? ''])),
    ...fixed,
  } as Out<typeof metadataAnswer>
}
