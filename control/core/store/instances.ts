/** Machines, apart from the records they run for. */
import type { Key, Unreadable } from './resources.ts'

export interface Instance {
  /** The driver's name for the machine, and whom intervals of the bill belong to. */
  readonly id: string
  /** The record it runs for; another one when an anonymous machine is given to somebody. */
  readonly owner: Owner
  /** Which revision of its owner it was made from. */
  readonly revision: string
  /** Name of the driver that has it. */
  readonly driver: string
  /** Grows by one with each change; the token of optimistic concurrency. */
  readonly version: number
  /** A state of `reconcile/instance-life.ts`. */
  readonly status: string
  /** Where its daemon answers, once it has started. */
  readonly address?: Address
  /** What it runs, fixed when it first starts, so that a moved tag does not change a machine that is started again. */
  readonly image?: PinnedImage
  /** When its owner asked for it: when its record was made, or a machine of before was given to that owner. */
  readonly createdAt: number
  /** When it last started; absent until it has once: from then on it holds files that are worth keeping. */
  readonly startedAt?: number
  /** Last resume or suspend. */
  readonly turnedAt?: number
  readonly lastUsedAt?: number
  /** Failed attempts of the start under way. */
  readonly attempts: number
  /** What went wrong, oldest first, the last twenty. */
  readonly errors: readonly InstanceError[]
  /** Memory it was given. */
  readonly memoryMb?: number
  /** Its machine was made for nobody and is to become its owner's: nothing of that is certain until it has started. */
  readonly claimed?: boolean
  /** Memory that its processes held when it was last suspended. */
  readonly heldBytes?: number
}

export interface Owner extends Key {
  readonly uid: string
}

export interface Address {
  readonly host: string
  readonly port: number
  /** Absent for a machine that an older build has started. */
  readonly channel?: ChannelAddress
}

/** The host's way to the daemon of one start of a machine; the key is computed from it. */
export interface ChannelAddress {
  readonly port: number
  readonly machine: string
  readonly generation: string
}

export interface PinnedImage {
  readonly digest: string
  readonly rootfs: string
}

export interface InstanceError {
  readonly code: string
  readonly message: string
  /** ISO 8601. */
  readonly time: string
  /** It ended the machine. */
  readonly fatal: boolean
}

export interface Instances {
  get(id: string): Promise<Instance | undefined>
  /** Oldest first. */
  ofOwner(uid: string): Promise<Instance[]>
  /** Of all these owners, oldest first. What cannot be read is told by its owner, as by `Resources.everyOf`. */
  ofOwners(uids: readonly string[], unreadable?: Unreadable): Promise<Instance[]>
  /** Of the owner with that key, oldest first: for every request, so it does not look at the owner. */
  ofKey(key: Key): Promise<Instance[]>
  /** Of all owners; for start-up only. What cannot be read is told as by `Resources.everyOf`. */
  every(unreadable?: Unreadable): Promise<Instance[]>
  /** Digests of what all of them are made from, also of those of which something else cannot be read. Throws `unavailable`, naming the row, where that cannot be. */
  digests(): Promise<Set<string>>
}
