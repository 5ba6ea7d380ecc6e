/**
 * Revisions: what a record was at each change that is deployed. One never changes; the last few are kept, and those that
 * carry traffic. Which ones do is `spec.revision`: `active`, and `canary` beside it.
 */
import { fail } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Resource } from '../store/store.ts'
import type { Spec } from './kind.ts'

export interface RevisionRules {
  readonly kept: number
  /** Older ones that are needed still. */
  inUse?(record: Pick<Resource, 'internal'>): readonly string[]
}

export interface Revision {
  readonly id: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly createdBy: string
  readonly spec: Spec
}

/** What a record remembers of its revisions, oldest first. */
export interface Revisions {
  readonly all: readonly Revision[]
  readonly previousActive?: string
}

/** Which revisions carry traffic, as in `spec.revision`. */
interface Traffic {
  readonly active?: string
  readonly canary?: string
  readonly canaryPercent?: number
  /** Part of the traffic that what is deployed now is to get, of a hundred. */
  readonly traffic?: number
}

export const revisionsOf = ({ internal }: Pick<Resource, 'internal'>): Revisions =>
  (internal['revisions'] as Revisions | undefined) ?? { all: [] }

export const trafficOf = (spec: Spec): Traffic => (spec['revision'] ?? {}) as Traffic

/** What is deployed: whether it is on, and who gets traffic, is not. */
const contentOf = (spec: Spec): Spec => {
  const { revision: _, enabled: _on, ...content } = spec
  return content
}

const isSame = (a: Spec, b: Spec): boolean => JSON.stringify(a) === JSON.stringify(b)

const need = (all: readonly Revision[], member: string, id: string | undefined): string | undefined => {
  if (id && !all.some(revision => revision.id === id))
    throw fail('invalid_argument', { field: `spec.revision.${member}`, reason: `revision "${id}" not found` })
  return id || undefined
}

/** The newest so many, and whatever carries traffic. */
const kept = (all: readonly Revision[], most: number, used: readonly (string | undefined)[]): readonly Revision[] =>
  all.filter(({ id }, at) => at >= all.length - most || used.includes(id))

export interface Revised {
  readonly spec: Spec
  readonly revisions: Revisions
  /** For the event. */
  readonly of: { readonly revision: string; readonly canaryRevision?: string }
}

/**
 * A spec with its revisions: a new one when what is deployed has changed, active unless an older one was chosen. Throws
 * `invalid_argument` for a revision that is not there.
 */
export const revise = (
  { kept: most, inUse }: RevisionRules,
  spec: Spec,
  before: Pick<Resource, 'spec' | 'internal'> | undefined,
  by: {
    readonly ids: Ids
    readonly now: number
    readonly name: string
    /** It gets an image of its own, so that it is new whatever its spec says. */
    readonly anew?: boolean
  },
): Revised => {
  const { all, previousActive } = before ? revisionsOf(before) : { all: [] }
  const newest = all.at(-1)
  const content = contentOf(spec)
  const isNew = by.anew === true || !newest || !isSame(newest.spec, content)
  const made = { id: by.ids.short(12), createdAt: new Date(by.now).toISOString(), createdBy: by.name, spec: content }
  const current = before && trafficOf(before.spec).active
  const { active: given, canary: wantedCanary, traffic: part, ...rest } = trafficOf(spec)
  // A part of the traffic for what is deployed now makes it the canary, once.
  const asCanary = isNew && before && part !== undefined && part < 100 ? part : undefined
  const traffic = asCanary ? { ...rest, canaryPercent: asCanary } : rest
  const wanted = asCanary ? undefined : wantedCanary
  const asked = need(all, 'active', given)
  const canary = asCanary ? made.id : need(all, 'canary', wanted)
  // Clients send back what they read: the one that is active already was not chosen anew.
  const chosen = asked && asked !== current ? asked : undefined
  const follows = isNew && asCanary === undefined && (part === 100 || !current || current === newest?.id)
  const active = chosen ?? (follows ? made.id : current) ?? made.id
  const last = active === current ? previousActive : current
  return {
    spec: { ...spec, revision: { ...traffic, active, ...(canary ? { canary } : {}) } },
    revisions: {
      all: kept(isNew ? [...all, made] : all, most, [active, canary, ...(before ? (inUse?.(before) ?? []) : [])]),
      ...(last ? { previousActive: last } : {}),
    },
    of: { revision: isNew ? made.id : active, ...(canary ? { canaryRevision: canary } : {}) },
  }
}
