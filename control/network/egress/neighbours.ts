/**
 * Sandboxes that one may reach because they are in the same network of their owner. They are past the policy, as private networks are,
 * and past the fence, which is closed to all other machines.
 */
export interface Neighbour {
  /** The record, whatever has its address later. */
  readonly uid: string
  /** All that it may be called by, its address among them: what is forbidden under one of them is so under all. */
  readonly names: readonly string[]
  readonly address: string
  /** Ports of the host's own in it: whoever reaches them is root there. */
  readonly closedPorts: readonly number[]
  /** Wakes it and keeps it awake until the returned function is called. Throws when it cannot be woken. */
  hold(signal: AbortSignal): Promise<() => void>
}

export interface Neighbours {
  /** Who is meant by a name or an address as that sandbox says it; undefined for all that is not in its network. */
  find(sandbox: string, host: string): Neighbour | undefined
}

export const noNeighbours: Neighbours = { find: () => undefined }
