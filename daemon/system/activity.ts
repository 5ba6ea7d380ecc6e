import { handle, type Bound } from '../../shared/route.ts'
import { activity } from '../../shared/wire/system.ts'

interface Parts {
  /** How many processes keep the sandbox awake. */
  readonly held: () => number
  readonly drives: () => { readonly uidMap: string; readonly gidMap: string }
  /** Collects the garbage of the start, unless that was done. */
  readonly tidy?: (() => void) | undefined
}

/** What the host asks before it lets the sandbox sleep; one that is about to gives back what its start has left. */
export const activityRoute = ({ held, drives, tidy }: Parts): Bound =>
  handle(activity, ({ query: { sleeps } }) => {
    const keepAlive = held()
    if (sleeps && keepAlive === 0) tidy?.()
    return { keepAlive, drives: drives() }
  })
