/**
 * A resource kind is data and a few hooks; `crud.ts` gives every kind the same five endpoints, paging,
 * external ids, stamps and events. A new kind is a definition and one line in `index.ts`.
 */
import type { Resource } from '../store/store.ts'
import type { Out, Shape } from '../../shared/schema.ts'

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

export interface PresentOptions {
  /** The caller is a workspace admin who asked to see secret values. */
  readonly showSecrets: boolean
  readonly now: number
}

/** What an update does beyond storing the new spec. */
export interface Consequence {
  readonly status: string
  /** Text of the event that the change of status appends. */
  readonly message: string
  readonly internal?: Readonly<Record<string, unknown>>
}

export interface Kind<S extends Shape = Shape> {
  /** Singular, as stored: `sandbox`. */
  readonly kind: string
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
  /** Every status the kind can have; `status=` is checked against it. */
  readonly statuses: readonly string[]
  /** Status of a new resource. */
  initialStatus(spec: Spec): string
  /** Statuses left out of lists unless asked for. */
  readonly hiddenStatuses: readonly string[]
  /** A name whose holder has one of these statuses can be created again. */
  readonly replaceableStatuses: readonly string[]
  /** `reconciled`: a delete marks the resource DELETING and a loop does the rest; `immediate`: the row goes at once. */
  readonly removal: 'reconciled' | 'immediate'
  readonly paginated: boolean
  readonly filterStatusOnEveryVersion: boolean
  readonly listsEvents: boolean
  /** `GET /{plural}/by-external-id/{id}` exists. */
  readonly byExternalId: boolean
  /** Failures of the create carry the richer body that clients of this kind read. */
  readonly detailedErrors: boolean
  /** Checks and completes a spec before it is stored; throws `invalid_argument` naming the field. */
  accept?(spec: Out<S> | undefined, previous: Resource | undefined): Promise<Spec> | Spec
  /** What the new spec means for a resource that lives; undefined when nothing but the record changes. */
  consequence?(previous: Resource, spec: Spec): Consequence | undefined
  /** The status that holds at `now` when time alone decides (expiry), whether or not the loop has got there. */
  statusAt?(resource: Resource, now: number): string
  /** Members of the answer beyond metadata, spec, status and events. */
  present?(resource: Resource, options: PresentOptions): Record<string, unknown>
  /** The spec as answered: secrets masked, write-only parts left out. */
  presentSpec?(resource: Resource, options: PresentOptions): Record<string, unknown>
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
  | 'statuses'
  | 'hiddenStatuses'
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
