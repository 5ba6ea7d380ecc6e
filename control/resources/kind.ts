/**
 * A resource kind is data and a few hooks; `crud.ts` gives every kind the same five endpoints, paging,
 * external ids, stamps and events. A new kind is a definition and one line in `index.ts`.
 */
import type { Resource } from '../store/store.ts'
import type { Out, Shape } from '../../shared/schema.ts'

export interface Kind<S extends Shape = Shape> {
  /** Singular, as stored: `sandbox`. */
  readonly kind: string
  /** Plural, as in the path: `sandboxes`. */
  readonly plural: string
  /** Stem of the OAuth scopes: `sandboxes`. */
  readonly scope: string
  readonly spec: S
  /** Every status the kind can have; `status=` is checked against it. */
  readonly statuses: readonly string[]
  readonly initialStatus: string
  /** Statuses left out of lists unless asked for. */
  readonly hiddenStatuses: readonly string[]
  /** A name whose holder has one of these statuses can be created again. */
  readonly replaceableStatuses: readonly string[]
  readonly paginated: boolean
  readonly filterStatusOnEveryVersion: boolean
  readonly listsEvents: boolean
  /** Checks and completes a spec before it is stored; throws `invalid_argument` naming the field. */
  accept?(spec: Out<S>, previous: Resource | undefined): Record<string, unknown>
  /** Members of the answer beyond metadata, spec, status and events. */
  present?(resource: Resource, options: { showSecrets: boolean }): Record<string, unknown>
  /** The spec as answered: secrets masked, write-only parts left out. */
  presentSpec?(resource: Resource, options: { showSecrets: boolean }): Record<string, unknown>
}

export const defineKind = <S extends Shape>(kind: Kind<S>): Kind<S> => kind
