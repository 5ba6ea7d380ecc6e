/**
 * A resource kind is data and a few hooks; `crud.ts` gives every kind the same endpoints, paging, external ids, stamps and
 * events. A new kind is a definition and one line in `control/kinds.ts`.
 *
 * A kind without a status leaves out `life`. One whose records have machines declares a `workload`, and `expiry` where
 * they end by themselves (`reconcile/rules.ts`): the runner does the rest.
 */
import type { Out, Shape } from '../../shared/schema.ts'
import type { Rules } from '../reconcile/rules.ts'
import type { Instance, Resource } from '../store/store.ts'

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
  region(record: Resource): string
}

export interface Kind<S extends Shape = Shape> extends Rules {
  /** Plural, as in the path: `sandboxes`. */
  readonly plural: string
  /** Stem of the OAuth scopes: `sandboxes`. */
  readonly scope: string
  /** Name of the path parameter; `{kind}Name` when absent. */
  readonly param?: string
  /** Kind this one lives inside; its path is `/{plural of the parent}/{name}/{plural}`, and it goes when the parent goes. */
  readonly parent?: Kind
  readonly spec: S
  /** Shape of the answer: its spec, and members beyond metadata, spec, status and events. For documentation and tests. */
  readonly answers?: { readonly spec?: Shape; readonly more?: Readonly<Record<string, Shape>> }
  /** Every status that the API speaks of; `status=` is checked against it. Those of the table unless given. */
  readonly statuses?: readonly string[]
  /** A name whose holder has one of these statuses can be created again. */
  readonly replaceableStatuses: readonly string[]
  /** `reconciled`: a delete is an event of the table and a loop does the rest; `immediate`: the row goes at once. */
  readonly removal: 'reconciled' | 'immediate'
  readonly paginated: boolean
  readonly filterStatusOnEveryVersion: boolean
  readonly listsEvents: boolean
  /** `GET /{plural}/by-external-id/{id}` exists. */
  readonly byExternalId: boolean
  /** Failures of the create carry the richer body that clients of this kind read. */
  readonly detailedErrors: boolean
  readonly dataPlane?: DataPlane
  /** Checks and completes a spec before it is stored; throws `invalid_argument` naming the field. */
  accept?(spec: Out<S> | undefined, previous: Resource | undefined): Promise<Spec> | Spec
  /** What the new spec means for a resource that lives; undefined when nothing but the record changes. */
  consequence?(previous: Resource, spec: Spec): Consequence | undefined
  /** The status that holds at `now` when time alone decides (expiry), whether or not the loop has got there. */
  statusAt?(found: Found, now: number): string
  /** Members of the answer beyond metadata, spec, status and events. */
  present?(found: Found, options: PresentOptions): Record<string, unknown>
  /** The spec as answered: secrets masked, write-only parts left out. */
  presentSpec?(record: Resource, options: PresentOptions): Record<string, unknown>
}

/** What of a kind its routes are declared from: data, no hooks. */
export type KindFace = Pick<
  Kind,
  | 'kind'
  | 'plural'
  | 'scope'
  | 'param'
  | 'parent'
  | 'spec'
  | 'answers'
  | 'life'
  | 'statuses'
  | 'hiddenStatuses'
  | 'keptWhileReferenced'
  | 'paginated'
  | 'byExternalId'
  | 'detailedErrors'
>

// A kind of any spec is used through the plain Kind: hooks are methods, whose parameters may be narrower.
export const defineKind = <S extends Shape>(kind: Kind<S>): Kind => kind as unknown as Kind

/** Name of the path parameter of a kind. */
export const paramOf = (kind: KindFace): string => kind.param ?? `${kind.kind}Name`

/** Path of the collection: `/v0/sandboxes/:sandboxName/previews`. */
export const pathOf = (kind: KindFace): `/${string}` =>
  kind.parent ? `${pathOf(kind.parent)}/:${paramOf(kind.parent)}/${kind.plural}` : `/v0/${kind.plural}`

/** The kinds that this one lives inside, outermost first. */
export const ancestorsOf = (kind: KindFace): readonly Kind[] =>
  kind.parent ? [...ancestorsOf(kind.parent), kind.parent] : []

export const statusesOf = (kind: Pick<KindFace, 'life' | 'statuses'>): readonly string[] =>
  kind.statuses ?? kind.life?.states ?? []

/** The status of a record at `now`; '' for kinds without one. */
export const statusOf = (kind: Kind, found: Found, now: number): string =>
  kind.statusAt?.(found, now) ?? found.record.status
