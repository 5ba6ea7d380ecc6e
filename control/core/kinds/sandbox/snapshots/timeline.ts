/** The states of a sandbox that it can go back to, and forth: what its record remembers of them. */
import type { Resource } from '../../../store/store.ts'

export interface Checkpoint {
  /** `cp_…`. */
  readonly id: string
  /** Epoch ms. */
  readonly createdAt: number
  /** What was run next; absent for a state that an undo has left. */
  readonly command?: string
  readonly bytes: number
}

interface Internal {
  /** Oldest first. */
  readonly timeline?: readonly Checkpoint[]
}

export const timelineOf = ({ internal }: Pick<Resource, 'internal'>): readonly Checkpoint[] =>
  (internal as Internal).timeline ?? []

export const withTimeline = ({ internal }: Resource, timeline: readonly Checkpoint[]): Resource['internal'] => ({
  ...internal,
  timeline,
})

/** The id of the files of a sandbox's own copy. */
export const filesIdOf = (uid: string, id: string): string => `${uid}_${id}`

/** Ids of all files that a sandbox has besides those of its machine. */
export const checkpointsOf = (record: Pick<Resource, 'uid' | 'internal'>): ReadonlySet<string> =>
  new Set(timelineOf(record).map(({ id }) => filesIdOf(record.uid, id)))

/**
 * Which of its states a sandbox was taken to last, by where its files come from; undefined while it is ahead of all. Whoever is taken back
 * leaves a state without a command, which is the last until a command is run.
 */
export const positionIn = (
  uid: string,
  states: readonly Checkpoint[],
  origin: string | undefined,
): number | undefined => {
  if (states.at(-1)?.command !== undefined) return undefined
  const at = states.findIndex(({ id }) => filesIdOf(uid, id) === origin)
  return at < 0 ? undefined : at
}

const [mostStates, mostBytes] = [20, 16 * 2 ** 30]

/** The newest, as many as are kept. */
const bounded = (states: readonly Checkpoint[]): readonly Checkpoint[] => {
  let kept = states.slice(-mostStates)
  while (kept.length > 1 && kept.reduce((sum, { bytes }) => sum + bytes, 0) > mostBytes) kept = kept.slice(1)
  return kept
}

/** With a state that a command is run in: what was undone before is not redone any more. */
export const advanced = (
  states: readonly Checkpoint[],
  at: number | undefined,
  next: Checkpoint,
): readonly Checkpoint[] => {
  const before = at === undefined ? states : states.slice(0, at + 1)
  return bounded([...before.filter(({ command }) => command !== undefined), next])
}
