/** What the verbs of a kind share. */
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { KeyUses } from '../access/key-uses.ts'
import type { Dns } from '../../base/dns.ts'
import type { Providers } from '../catalogues/providers.ts'
import type { Transition } from '../transitions/transition.ts'
import type { Slot } from '../transitions/slot.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { AuditedBy, Key, Resource, Store, Written } from '../store/store.ts'
import type { Cursors } from '../../base/wire/cursors.ts'
import { ancestorsOf } from './address.ts'
import { statusOf, type Around, type Found, type Kind } from './kind.ts'
import { implied } from './implied.ts'
import { present, rendered, type Presented, type Presenting } from './present.ts'

/** What shares of images ask: what there is to share, and what stands in a share's way. */
export interface Sharable {
  /** The image of that type and name as answered to a workspace; undefined when there is none. */
  named(
    workspace: string,
    named: readonly [type: string, name: string],
  ): Promise<{ readonly metadata: { readonly sourceWorkspace?: string } } | undefined>
  /** References of an image that a workspace has pulled itself. */
  pulled(workspace: string, imageName: string): Promise<readonly string[]>
  forget(workspace: string, reference: string): Promise<void>
}

export interface CrudDeps {
  readonly store: Store
  readonly transition: Transition
  readonly clock: Clock
  readonly ids: Ids
  readonly cursors: Cursors
  readonly sealer: Sealer
  readonly keyUses: Pick<KeyUses, 'of'>
  /** Every kind of this host, by its name. */
  readonly kinds: ReadonlyMap<string, Kind>
  /** Anybody may come in when it is left out. */
  readonly entry?: Entry
  /** How many an account may have, by the plural of the kind; no limits when it is left out. */
  readonly quotas?: Readonly<Record<string, number>>
  /** Tells the runner that a resource changed or went; must not throw and must not wait. */
  poke(kind: string, uid: string): void
  /** Absolute address of the resource's data plane, without a trailing slash; undefined for kinds that have none. */
  url(resource: Resource): string | undefined
  /** Billing plan that metadata shows. */
  readonly plan: string
  /** Domain that workloads are reached under. */
  readonly domain: () => string
  readonly dns: Dns
  readonly sharable: Sharable
  /** What connections lead to. */
  readonly providers: Providers
  /** Calls of models on their way to the store; there are none where it is left out. */
  readonly modelCalls?: {
    flush(): Promise<void>
    readonly gap: { readonly waiting: number; readonly lost: number }
  }
}

/** Who acts, and where. */
export interface Actor {
  readonly workspace: string
  /** Recorded in createdBy and updatedBy. */
  readonly name: string
  readonly admin: boolean
  /** What its credential is limited to; null for all. */
  readonly scopes?: readonly string[] | null
  /** How it asks; nothing of it is known in process. */
  readonly by?: AuditedBy
}

/** What the audit says of who acts. */
export const auditedBy = ({ name, by }: Pick<Actor, 'name' | 'by'>): AuditedBy =>
  by ?? { actor: name, credential: '', remote: '', requestId: '' }

/** Names of what a resource lives inside, outermost first; none for kinds of their own. */
export interface Inside {
  readonly parents?: readonly string[] | undefined
}

/** How a record is written. */
export interface Writing extends Inside {
  /** It waits for an upload, of which its image is made. */
  readonly upload?: Slot | undefined
}

/** Whether there is room for one more record with machines. */
export interface Entry {
  /**
   * Throws `overloaded` when a new record would wait too long for its machine, `draining`, and `no_room` when the disk has not got
   * what it wants; what it wants is kept for it until it is written, or leaves.
   */
  admit(wanted: {
    readonly workspace: string
    readonly uid: string
    readonly storageMb: number | undefined
  }): Promise<void>
  leave(uid: string): void
  /** Throws `no_room` when a record cannot have so much more. */
  grow(moreMb: number): Promise<void>
}

export interface Context extends CrudDeps {
  readonly kind: Kind
}

/** Attempts at a change that others make at the same time before the caller is told. */
export const attempts = 5

export const pathTo = (parents: readonly string[] = []): string => parents.join('/')

export const keyOf = ({ kind }: Context, { workspace }: Actor, name: string, parents?: readonly string[]): Key => ({
  kind: kind.kind,
  workspace,
  parent: pathTo(parents),
  name,
})

export const withInstances = async ({ store }: Context, kind: Kind, record: Resource): Promise<Found> => ({
  record,
  instances: kind.workload ? await store.instances.ofOwner(record.uid) : [],
})

/** Records of one parent that are looked through for a name that is not the stored one. */
const searched = 1000

/** The record of that key, or one that is there without a row. */
const look = async ({ store }: Context, kind: Kind, key: Key): Promise<Resource | undefined> =>
  (await store.resources.get(key)) ?? (await implied(store, kind, key))

const aliased = async ({ store, kind }: Context, { workspace, parent, name }: Key): Promise<Resource | undefined> => {
  if (!kind.alias) return undefined
  const { items } = await store.resources.list({
    kind: kind.kind,
    workspace,
    parent,
    sort: 'createdAt:desc',
    limit: searched,
  })
  return items.find(record => kind.alias?.(record) === name)
}

/** Throws `not_found`. */
export const find = async (context: Context, actor: Actor, name: string, inside: Inside): Promise<Found> => {
  const { kind } = context
  const key = keyOf(context, actor, name, inside.parents)
  const stored = kind.names.stored?.(name) ?? name
  const record = (await look(context, kind, { ...key, name: stored })) ?? (await aliased(context, key))
  if (!record) throw fail('not_found', { kind: kind.kind, name })
  return withInstances(context, kind, record)
}

/** The records it lives inside, outermost first. Throws `not_found` naming the first that is not there, or is over. */
export const needParents = async (context: Context, { workspace }: Actor, { parents = [] }: Inside) => {
  const records: Resource[] = []
  for (const [index, ancestor] of ancestorsOf(context.kind).entries()) {
    // A kind may know its parent by its face only.
    const kind = context.kinds.get(ancestor.kind) ?? ancestor
    const name = parents[index] ?? ''
    const key = { kind: kind.kind, workspace, parent: pathTo(parents.slice(0, index)), name }
    const record = await look(context, kind, key)
    const found = record && (await withInstances(context, kind, record))
    if (!found || kind.hiddenStatuses.includes(statusOf(kind, found, context.clock.now())))
      throw fail('not_found', { kind: kind.kind, name })
    records.push(found.record)
  }
  return records
}

/** What a spec is accepted for. */
export const around = async (context: Context, actor: Actor, inside: Inside): Promise<Around> => ({
  parents: await needParents(context, actor, inside),
  workspace: actor.workspace,
  now: context.clock.now(),
  domain: context.domain(),
  scopes: actor.scopes ?? null,
})

/** Whatever was written is looked at: what went first, for it may stand in the way of what came. */
export const pokeAll = ({ poke }: Pick<CrudDeps, 'poke'>, { removed, resources }: Written): void => {
  for (const { kind, uid } of [...removed, ...resources]) poke(kind, uid)
}

/** How many records name this one, by the plural of their kind; who holds it; and when it was last used, of a key. */
export const usageOf = async ({ kind, kinds, store, keyUses }: Context, record: Resource) => {
  if (kind.showsUse) {
    const lastUsedAt = await keyUses.of(record.uid)
    return lastUsedAt ? { lastUsedAt } : {}
  }
  if (kind.showsHolder) {
    const [holder] = await store.resources.usages(record, 1)
    return holder ? { holder: `${holder.kind}:${holder.name}` } : {}
  }
  if (kind.usage.length === 0) return {}
  const counts = await store.resources.usageCounts(record)
  const byPlural = Object.entries(counts).map(([name, count]) => [kinds.get(name)?.plural ?? name, count] as const)
  return { usage: Object.fromEntries(byPlural) as Record<string, number> }
}

/** What is asked of `present` for every record of a kind. */
export const presenting = (context: Context, record: Resource, showSecrets: boolean): Presenting => ({
  showSecrets,
  now: context.clock.now(),
  plan: context.plan,
  url: context.url(record),
  open: context.sealer.open,
})

/** The standard form of one resource, with its events. */
export const whole = async (context: Context, found: Found, showSecrets = false): Promise<Presented> => {
  const { kind, store, poke, clock } = context
  const { record } = found
  // Time has decided what the loop has not seen yet.
  if (statusOf(kind, found, clock.now()) !== record.status) poke(kind.kind, record.uid)
  const events = kind.life ? await store.resources.events(record.uid) : []
  const usage = await usageOf(context, record)
  return present(kind, found, { ...presenting(context, record, showSecrets), events, ...usage })
}

/** The answered form of one resource, with its events. */
export const answer = async (context: Context, found: Found, showSecrets = false): Promise<Presented> =>
  rendered(context.kind, await whole(context, found, showSecrets), found)
