/**
 * A resource kind is data and a few hooks; `crud.ts` gives every kind the same endpoints, paging, external ids, stamps and
 * events. A new kind is a definition and one line in `control/core/kinds/index.ts`; what it leaves out has the defaults below.
 *
 * A kind without a status leaves out `life`. One whose records have machines declares a `workload`, and `expiry` where
 * they end by themselves (`reconcile/rules.ts`): the runner does the rest.
 */
import type { ErrorCode } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Out, Shape } from '../../../shared/schema.ts'
import type { Access } from '../access/access.ts'
import type { Rules } from '../transitions/rules.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { Instance, Resource, Sort, Store } from '../store/store.ts'
import type { Action } from './action.ts'
import type { Issue } from './issue.ts'
import type { MetadataShape } from './metadata.ts'
import type { Naming } from './naming.ts'
import type { RevisionRules } from './revisions.ts'
import type { SealedMember } from './sealing.ts'
import type { ServerPlane } from './server-plane.ts'
import type { Wire } from './wire.ts'

/** The deployment statuses of the API. */
export const statuses = [
  'UPLOADING',
  'BUILDING',
  'BUILT',
  'DEPLOYING',
  'DEPLOYED',
  'DEACTIVATING',
  'DEACTIVATED',
  'DELETING',
  'TERMINATED',
  'FAILED',
] as const

export type Spec = Readonly<Record<string, unknown>>

/** A record with what runs for it. */
export interface Found {
  readonly record: Resource
  /** None for kinds without a workload. */
  readonly instances: readonly Instance[]
}

export interface PresentOptions {
  /** The caller is a workspace admin who asked to see secret values. */
  readonly showSecrets: boolean
  readonly now: number
  /** Its address, where it has one. */
  readonly url?: string | undefined
  /** Who has it attached, as `sandbox:web`; of a kind that `showsHolder`. */
  readonly holder?: string | undefined
  /** Opens what is sealed. */
  readonly open: (sealed: string) => string
}

/** What an update does beyond storing the new spec: an event of the kind's table. */
export interface Consequence {
  readonly event: string
  /** Text of the event that is written down. */
  readonly message: string
  readonly internal?: Readonly<Record<string, unknown>>
}

/** A kind with a data plane: its records are reached at `/{workspace}/{plural}/{name}/…` … */
export interface DataPlane {
  /** … and at `{label}-{name}-{workspace}.{region}.…` where there is DNS for it. */
  readonly label: string
  /** The OAuth scope of using them: `sandboxes:control`. */
  readonly scope: string
  region(record: Resource): string
  /** Its requests end in a handler of the host, not in a machine: it has neither ports nor a terminal. */
  readonly handled?: true
}

/** What a spec is accepted for. */
export interface Around {
  /** What it lives inside, outermost first. */
  readonly parents: readonly Resource[]
  readonly workspace: string
  readonly now: number
  /** Domain that workloads of this host are reached under. */
  readonly domain: string
  /** What the actor's own credential is limited to, or null. */
  readonly scopes: readonly string[] | null
}

export interface Makers {
  readonly ids: Ids
  readonly sealer: Sealer
}

export interface Generated {
  readonly spec: Spec
  told(shown: Spec): Spec
}

export type Verb = 'list' | 'create' | 'get' | 'update' | 'delete'

/** What a delete answers in place of the record. */
export interface Removed {
  readonly status: 200 | 204
  /** Shape of the body and the body; an answer without one is empty. */
  readonly body?: { readonly shape: Shape; of(record: Resource): unknown }
}

/** Bodies that a caller may send as they are; documents show them, and the tests of every kind begin with them. */
export interface Example {
  readonly create: object
  readonly update?: object
}

export interface ListingRules {
  /** In pages from version 2026-04-28 on, before as a bare array; else a bare array in every version. */
  readonly paginated: boolean
  readonly pageLimit: { readonly fallback: number; readonly max: number }
  /** Before 2026-04-28 the array is a part of all: `limit` of them from `offset` on. */
  readonly olderOffset: boolean
  /** The first version in which the listing exists; every one unless given. */
  readonly listedSince?: string
  /** Path of one more listing, of those inside any parent: `egressips`; the action is the one of its scope. */
  readonly listedAcross?: {
    readonly path: string
    readonly access: Access
    /** The query may name the parent whose records are wanted (`sandbox=`). */
    readonly inside?: true
  }
  /** `type=` filters pages: the statuses that a value stands for; undefined for a value that is ignored. */
  readonly types?: (value: string) => readonly string[] | undefined
  readonly sort: Sort
  readonly filterStatusOnEveryVersion: boolean
  readonly listsEvents: boolean
  /** `status=` filters pages. */
  readonly filtersStatus: boolean
  /** `anchor=end` answers the last page. */
  readonly anchored: boolean
  /** What of an answer is shown in pages; in bare arrays items are whole. */
  pageItem?(item: Record<string, unknown>): Record<string, unknown>
}

export interface Kind<S extends Shape = Shape> extends Rules, ListingRules {
  /** Plural in one word, for ids, counts and documents: `sandboxes`. */
  readonly plural: string
  /** Segments of its path; the plural unless given. */
  readonly path?: string
  /** Stem of the OAuth scopes: `sandboxes`. */
  readonly scope: string
  /** Who may do what, where it is not a member with the scope `{scope}:{verb}`. */
  readonly access: Readonly<Partial<Record<Verb, Partial<Access>>>>
  /** Name of the path parameter; `{kind}Name` when absent. */
  readonly param?: string
  /** Kind this one lives inside; its path is `/{plural of the parent}/{name}/{plural}`, and it goes when the parent goes. */
  readonly parent?: Kind
  /** It is served at `/{workspace}/…` as well, without a version. */
  readonly atRoot?: boolean
  /** How many of them one parent may hold. */
  readonly mostInside?: number
  /** A new one depends on what it lives inside as that was read: nobody changes it in between. */
  readonly boundToParents?: boolean
  /** Events of what it lives inside that happen to it too, in the same transaction. */
  readonly sharesEvents?: readonly string[]
  /** What can be done with it. */
  readonly verbs: readonly Verb[]
  readonly actions: readonly Action[]
  readonly spec: S
  readonly metadata: MetadataShape
  readonly names: Naming
  /** Fills in what a spec leaves to the host, before it is checked. */
  complete?(spec: Spec): Spec
  /** What a record may be called in an address besides its name. */
  alias?(record: Resource): string
  /** For kinds whose bodies and answers are not `{metadata, spec}`. */
  readonly wire?: Wire
  /** Shape of the answer: its spec, and members beyond metadata, spec, status and events. For documentation and tests. */
  readonly answers?: { readonly spec?: Shape; readonly more?: Readonly<Record<string, Shape>> }
  /** Members of a spec that have these values unless given. */
  readonly fallback: Spec
  /** What an update does to members of the spec that it leaves out. */
  readonly absent: 'keep' | 'clear'
  /** Clients may ask to upload what it is made of; a host that takes no uploads refuses that. */
  readonly uploads: boolean
  /** Where its spec names the image that is made of an upload. */
  readonly imageAt?: readonly string[]
  /** A PUT of an unknown name creates it. */
  readonly upsert: boolean
  readonly example?: Example
  /** Members of the spec that are encrypted, masked in answers, and kept when the mask is sent back. */
  readonly sealed: readonly SealedMember[]
  /** `show_secrets` of a GET opens them to admins. */
  readonly showsSecrets: boolean
  /** Its records are people of a workspace, who may leave it. */
  readonly leaves?: boolean
  /** Each change that is deployed makes a revision. */
  readonly revisions?: RevisionRules
  /** Its records are keys: answers say when each was last used. */
  readonly showsUse: boolean
  /** Whoever names it holds it, one at a time. */
  readonly showsHolder?: boolean
  /** Plurals of kinds whose records are counted that name it; answered as `usage`. */
  readonly usage: readonly string[]
  /** Every status that the API speaks of; `status=` is checked against it. Those of the table unless given. */
  readonly statuses?: readonly string[]
  /** The member of the spec that shows the status; a member beside the spec unless given. */
  readonly statusMember?: string
  /** A name whose holder has one of these statuses can be created again. */
  readonly replaceableStatuses: readonly string[]
  /** `createIfNotExist` of a POST answers the one there is. */
  readonly createsIfMissing: boolean
  /** `reconciled`: a delete is an event of the table and a loop does the rest; `immediate`: the row goes at once. */
  readonly removal: 'reconciled' | 'immediate'
  /** What the spec of a record is taken for that cannot be read, when it is deleted: what its answer needs. `fallback` unless given. */
  lostSpec?(): Spec
  /** The event of a delete; `delete` unless given. */
  readonly removalEvent: string
  readonly removed?: Removed
  /** `GET /{plural}/by-external-id/{id}` exists. */
  readonly byExternalId: boolean
  /** Codes of failures that only a create of this kind has. */
  readonly createErrors: readonly ErrorCode[]
  /** Failures of the create carry the richer body that clients of this kind read. */
  readonly detailedErrors: boolean
  readonly dataPlane?: DataPlane
  readonly server?: ServerPlane
  /** What no shape can say of a spec; throws `invalid_argument` naming the field. */
  check?(spec: Spec, previous: Resource | undefined, around: Around): void
  /** What other records say of the spec that is to be stored, after all else; throws what keeps it from being deployed. */
  bind?(spec: Spec, around: Around): Promise<void>
  /**
   * In place of `fallback`, `absent` and `check`: checks and completes a spec before it is stored; throws `invalid_argument`
   * naming the field.
   */
  accept?(spec: Out<S> | undefined, previous: Resource | undefined, around: Around): Promise<Spec> | Spec
  /**
   * Secrets that this host makes for members of a spec: the spec with them sealed, and the answered spec with those told
   * that are new, which happens once.
   */
  generate?(spec: Spec, previous: Resource | undefined, makers: Makers): Generated
  /** What a new record is given that its creator did not send. */
  readonly issue?: Issue
  /** What a create does before it answers the record, which is written. Where it throws nothing stays. */
  finish?(record: Resource): Promise<void>
  /** Throws what keeps a record from being deleted that references do not tell. */
  beforeRemoval?(context: { readonly store: Store }, record: Resource): Promise<void>
  /** Text of the event of the create. */
  createdMessage?(spec: Spec): string
  /** What the new spec means for a resource that lives; undefined when nothing but the record changes. */
  consequence?(previous: Resource, spec: Spec): Consequence | undefined
  /** The status that holds at `now` when time alone decides (expiry), whether or not the loop has got there. */
  statusAt?(found: Found, now: number): string
  /** Members of the answer beyond metadata, spec, status and events. */
  present?(found: Found, options: PresentOptions): Record<string, unknown>
  /** The spec as answered: write-only parts left out. Sealed members are masked before. */
  presentSpec?(record: Resource, options: PresentOptions): Record<string, unknown>
}

export const statusesOf = (kind: Pick<Kind, 'statuses' | 'life'>): readonly string[] =>
  kind.statuses ?? kind.life?.states ?? []

/** The status of a record at `now`; '' for kinds without one. */
export const statusOf = (kind: Pick<Kind, 'statusAt'>, found: Found, now: number): string =>
  kind.statusAt?.(found, now) ?? found.record.status

export const lostSpecOf = (kind: Pick<Kind, 'lostSpec' | 'fallback'>): Spec => kind.lostSpec?.() ?? kind.fallback

/** An answer to whoever made the secrets come about. */
export const toldOnce = <T extends object>(answered: T, generated: Generated | undefined): T =>
  generated && 'spec' in answered ? { ...answered, spec: generated.told(answered.spec as Spec) } : answered
