/** The metadata every resource has: what may be sent, what is answered. */
import { fail } from '../../shared/errors.ts'
import { s, text, type Out } from '../../shared/schema.ts'
import type { Resource, StoredMetadata } from '../store/store.ts'

/** At most this many labels on one resource. */
const maxLabels = 128

export const labelsInput = s
  .record(text(256), text(1024))
  .check(s.refine(labels => Object.keys(labels).length <= maxLabels, `must have at most ${maxLabels} entries`))

/** Metadata as sent. Read-only members, which clients send back in full updates, are let through and ignored. */
export const metadataInput = s.object({
  name: s.nullish(text(256)),
  displayName: s.nullish(text(63)),
  externalId: s.nullish(
    s.string().check(
      s.maxLength(64),
      s.refine(value => /^[A-Za-z0-9-]*$/.test(value), 'must contain only letters, digits and dashes'),
    ),
  ),
  labels: s.nullish(labelsInput),
})

export type MetadataInput = Out<typeof metadataInput>

const namePattern = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/

/** Checks a name that is to be given to something new; throws `invalid_argument` naming `field`. */
export const checkName = (name: string, field = 'metadata.name'): string => {
  const refuse = (reason: string) => fail('invalid_argument', { field, reason })
  if (name.length > 49) throw refuse('must be at most 49 characters')
  if (!namePattern.test(name))
    throw refuse('must be lowercase letters, digits and hyphens, beginning and ending with a letter or digit')
  return name
}

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
  plan: s.optional(s.string()),
  url: s.optional(s.string()),
  createdAt: s.string(),
  updatedAt: s.string(),
  createdBy: s.string(),
  updatedBy: s.string(),
})

/** Metadata as answered; times are ISO 8601 in UTC. */
export const presentMetadata = (
  resource: Resource,
  facts: { url: string | undefined; plan: string },
): Out<typeof metadataAnswer> => {
  const { name, workspace, metadata } = resource
  const { displayName, externalId, labels, createdBy, updatedBy } = metadata
  return {
    name,
    ...(displayName ? { displayName } : {}),
    ...(externalId ? { externalId } : {}),
    ...(labels ? { labels } : {}),
    workspace,
    plan: facts.plan,
    ...(facts.url ? { url: facts.url } : {}),
    createdAt: new Date(resource.createdAt).toISOString(),
    updatedAt: new Date(resource.updatedAt).toISOString(),
    createdBy,
    updatedBy,
  }
}
