/** What can happen to records and instances in one transaction; `transition.ts` makes it happen. */
import type {
  AuditEntry,
  ApiKey,
  IdentityChange,
  Instance,
  InstanceChange,
  Resource,
  ResourceChange,
  ResourceEvent,
  ScheduleRun,
  ScheduleRunResult,
} from '../store/store.ts'
import { instanceLife, type InstanceEvent } from './instance-life.ts'

/** A record that is to be. */
export type Draft = Pick<Resource, 'uid' | 'kind' | 'workspace' | 'parent' | 'name' | 'metadata' | 'spec'> & {
  readonly internal?: Resource['internal']
  /** One that its image is made for first begins with that; as its kind says unless given. */
  readonly status?: string
}

/** Revisions that an event is about. */
export type OfRevisions = Pick<ResourceEvent, 'revision' | 'canaryRevision'>

/** A machine that is to be made for its owner. */
export type InstanceDraft = Pick<Instance, 'id' | 'owner' | 'revision' | 'driver'>

/** As its row begins, at `now`. */
export const newInstance = (draft: InstanceDraft, now: number): Instance => ({
  ...draft,
  version: 1,
  status: instanceLife.initial,
  createdAt: now,
  attempts: 0,
  errors: [],
})

/** One part of a transaction. Rows are given as they were read: one that has moved on since makes it `changed_meanwhile`. */
export type Move =
  /** Throws what `Write` says of a create. */
  | {
      readonly create: Draft
      readonly message: string
      readonly revisions?: OfRevisions
      /** A key that goes when the record goes. */
      readonly credential?: ApiKey
    }
  /**
   * Moves a record by an event of its kind's table, changes it, or both. An event is written down with `message`; one that
   * the table does not allow is `wrong_state`. Instances that the record does not want afterwards are stopped with it.
   */
  | {
      readonly record: Resource
      readonly event?: { readonly name: string; readonly message: string; readonly revisions?: OfRevisions }
      readonly change?: Omit<ResourceChange, 'status'>
    }
  /**
   * Moves a record of which something cannot be read, its own row or those of instances: it is taken for what `lost` says, and such
   * instances are stopped.
   */
  | { readonly lost: Resource; readonly event: { readonly name: string; readonly message: string } }
  /** Removes a record with all that lives inside it, and stops its instances. `unreadable`: its row was, which the audit says. */
  | { readonly remove: Resource; readonly unreadable?: true }
  /** Throws `quota_exceeded` when the account of the workspace then has more than so many of the kind that are not over. */
  | {
      readonly atMost: {
        readonly kind: string
        readonly resource: string
        readonly workspace: string
        readonly parent?: string
        readonly most: number
      }
    }
  /** Nothing happens to it: what is written beside this depends on it as it was read. */
  | { readonly expect: Resource }
  | { readonly add: InstanceDraft }
  /** Moves an instance by an event of `instanceLife`, changes it, or both; what it is metered for follows from its state. */
  | {
      readonly instance: Instance
      readonly event?: InstanceEvent
      readonly change?: Omit<InstanceChange, 'status'>
    }
  /** Its machine is gone from the box. */
  | { readonly drop: Instance }
  /** About people. */
  | { readonly identity: IdentityChange }
  /** A run of a schedule is written down; of its schedule the newest `keep` stay. */
  | { readonly scheduleRun: ScheduleRun; readonly keep: number }
  | { readonly endRun: string; readonly result: ScheduleRunResult }
  /** A row of the audit about what is no record. */
  | { readonly audit: AuditEntry }
  /** The workspace of that name goes with its keys and everything in it; its machines are then nobody's. */
  | { readonly removeWorkspace: string }
