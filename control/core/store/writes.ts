/**
 * Writes of resources and instances. `apply` takes a list that happens in one transaction, in order: a name that is
 * given to another, what lives inside a resource and goes with it, a check and the delete that depends on it.
 *
 * Every change and removal compares and swaps on `version` and throws `changed_meanwhile` when the row has moved on or is
 * gone; the caller looks again and decides anew.
 */
import type { AuditEntry } from './audit.ts'
import type { IdentityChange } from './identity.ts'
import type { Instance, Owner } from './instances.ts'
import type { Rate } from './meter.ts'
import type { ApiKey } from './tenants.ts'
import type { ScheduleRun, ScheduleRunResult } from './schedules.ts'
import type { Key, Resource, ResourceEvent, StoredMetadata } from './resources.ts'

/** That a resource names another one of its workspace. */
export interface Reference {
  /** Where it does: `spec.volumes.0.name`; what an error names. */
  readonly field: string
  readonly kind: string
  readonly parent: string
  readonly name: string
  /** A target in one of these statuses counts as missing. */
  readonly exceptStatuses?: readonly string[]
  /** Nobody else may name the target as long as this one does. */
  readonly exclusive?: boolean
}

/** What a resource lives inside. */
export interface Within extends Key {
  readonly exceptStatuses?: readonly string[]
}

/** What a person is in the workspace of a record, as long as the record says so. */
export interface Membership {
  readonly sub: string
  readonly role: ApiKey['role']
}

/** Absent members keep their value. */
export interface ResourceChange {
  readonly status?: string
  readonly metadata?: StoredMetadata
  readonly spec?: Readonly<Record<string, unknown>>
  readonly internal?: Readonly<Record<string, unknown>>
}

/** Absent members keep their value; `undefined` clears one. */
export type InstanceChange = {
  readonly [member in keyof Omit<Instance, 'id' | 'version' | 'owner' | 'createdAt'>]?: Instance[member] | undefined
} & { readonly owner?: Owner; readonly createdAt?: number }

/** What an instance or a record is metered for from now on: what was open is closed and these opened, in the same transaction. */
export interface Metered {
  readonly rates: readonly Rate[]
  /** It ended at a time nobody saw: what was open is closed at the last moment it was accounted for. */
  readonly lost?: boolean
}

export type Write =
  /**
   * Throws `already_exists` when the name is taken in that kind, workspace and parent, or a claim by another of its kind and
   * workspace; `not_found` when what it lives inside is not there, or its workspace was deleted; `invalid_argument` with the
   * field of a reference whose target is not there; `in_use` for an exclusive one whose target another has. `metered` is what the record
   * itself costs from now on. `credential` is an API key that goes when the resource goes, and so does
   * `membership`; with the last one of a person who is no admin of the account go their keys.
   */
  | {
      readonly type: 'create'
      readonly resource: Resource
      readonly within?: Within
      readonly references?: readonly Reference[]
      readonly claims?: readonly string[]
      readonly credential?: ApiKey
      readonly membership?: Membership | undefined
      readonly event?: ResourceEvent
      readonly metered?: Metered
    }
  /**
   * `references` and `claims`, when given, replace those it had; missing targets as above. Throws `in_use` when `unlessReferenced` and
   * another resource names it. Stamps updatedAt. `instead` is what the row is taken for, which cannot be read.
   */
  | {
      readonly type: 'update'
      readonly instead?: Resource
      readonly uid: string
      readonly version: number
      readonly change: ResourceChange
      readonly references?: readonly Reference[]
      readonly claims?: readonly string[]
      readonly membership?: Membership | undefined
      readonly unlessReferenced?: boolean
      readonly event?: ResourceEvent
      readonly metered?: Metered
    }
  /** Its events and intervals stay for the bill. Throws `in_use` as above. */
  | {
      readonly type: 'remove'
      readonly uid: string
      readonly version: number
      readonly unlessReferenced?: boolean
    }
  /** Removes the resources of these kinds that live inside `path`, at any depth. Done when there are none. */
  | {
      readonly type: 'removeInside'
      readonly workspace: string
      /** Name of the outer resource, behind those it lives inside itself: `web`, `web/p1`. */
      readonly path: string
      readonly kinds: readonly string[]
    }
  /** Throws `in_use`, of this kind and name, when a resource of these kinds lives inside `path`, at any depth. */
  | {
      readonly type: 'nothingInside'
      readonly workspace: string
      readonly path: string
      readonly kinds: readonly string[]
      readonly kind: string
      readonly name: string
    }
  /**
   * Throws `quota_exceeded` when, with what was written before it in the list, the account of the workspace has more than `most` of a
   * kind that are in none of these statuses. `resource` is what an error calls them.
   */
  | {
      readonly type: 'atMost'
      readonly kind: string
      readonly resource: string
      readonly workspace: string
      /** Only those that live inside it, whichever their status. */
      readonly parent?: string
      readonly most: number
      readonly exceptStatuses: readonly string[]
    }
  /** Changes nothing: what is written beside it depends on this version. */
  | { readonly type: 'expect'; readonly uid: string; readonly version: number }
  | { readonly type: 'addInstance'; readonly instance: Instance; readonly metered?: Metered }
  | {
      readonly type: 'updateInstance'
      readonly id: string
      readonly version: number
      readonly change: InstanceChange
      readonly metered?: Metered
    }
  /** Closes its intervals; they stay for the bill. */
  | { readonly type: 'removeInstance'; readonly id: string; readonly version: number }
  /**
   * Gives the instances of an owner whose rows cannot be read that status, and closes their intervals; what could not be read is empty
   * from then on. Done when there are none.
   */
  | { readonly type: 'mendInstances'; readonly owner: string; readonly status: string }
  /** About people; throws what `IdentityChange` says. */
  | { readonly type: 'identity'; readonly change: IdentityChange }
  /** Writes down a run of a schedule, and forgets the oldest ones of that schedule beyond `keep`. */
  | { readonly type: 'addScheduleRun'; readonly run: ScheduleRun; readonly keep: number }
  /** How submitting it ended; nothing happens when the run is not kept any more. */
  | { readonly type: 'endScheduleRun'; readonly id: string; readonly result: ScheduleRunResult }
  /** Writes down who did what is written beside it. */
  | { readonly type: 'audit'; readonly entry: AuditEntry }
  /**
   * Deletes a workspace with its keys and all its resources; nothing can be created in it afterwards, and what its
   * instances cost ends now. Its name stays taken, and its bill stays. Throws `not_found`, and `wrong_state` for the last
   * one of its account.
   */
  | { readonly type: 'removeWorkspace'; readonly name: string }

/** What came of a list of writes. */
export interface Written {
  /** Created and changed ones as they are now, in the order of the writes. */
  readonly resources: readonly Resource[]
  readonly instances: readonly Instance[]
  /** Removed ones, with what lived inside them. */
  readonly removed: readonly (Key & { readonly uid: string })[]
}

export interface Transactions {
  /** `now` stamps changes and is where intervals end and begin. Throws what the first write that cannot be done throws. */
  apply(writes: readonly Write[], now: number): Promise<Written>
}
