/** Looks after a machine that takes no connection, before the next look at the box. */
import { isUp } from '../transitions/instance-life.ts'
import type { Changes } from '../transitions/changes.ts'
import type { Instance, Store } from '../store/store.ts'
import type { Census } from './census.ts'

/** A machine is known to be lost that long after it was seen to be. */
const lostMs = 10_000

interface Deps {
  readonly store: Pick<Store, 'instances'>
  readonly census: Pick<Census, 'found'>
  readonly changes: Changes
  /** Looks at the box; whoever asks while a look is under way gets that one. */
  readonly look: () => Promise<void>
}

/** Resolves with whether the machine has ended; then its instance is not up any more, or is up again elsewhere. */
export const hasEnded = async (deps: Deps, instance: Instance, signal: AbortSignal): Promise<boolean> => {
  const { store, census, changes, look } = deps
  const { id, owner, address } = instance
  const runs = (): boolean => ['running', 'frozen', undefined].includes(census.found(id)?.phase)
  const now = async () => {
    const known = await store.instances.get(id)
    const isElsewhere = known?.address?.channel?.generation !== address?.channel?.generation
    return !known || !isUp(known) || isElsewhere ? true : undefined
  }
  if (await now()) return true
  await look()
  // The look that was under way may have begun before the end.
  if (runs()) await look()
  if (runs() && !(await now())) return false
  const what = `waiting for the end of ${owner.kind} "${owner.name}" to be known`
  return changes.until(owner.uid, now, { what, boundMs: lostMs, signal })
}
