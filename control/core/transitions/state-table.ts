import { fail } from '../../../shared/errors.ts'

/** `state → { event → next state }`. A misspelt target does not compile. */
export type Moves<S extends string, E extends string> = { readonly [state in S]: { readonly [event in E]?: S } }

export interface StateTable<S extends string = string, E extends string = string> {
  readonly initial: S
  readonly states: readonly S[]
  readonly moves: Moves<S, E>
  /** The state after `event`; throws `wrong_state` naming state and event when the table has no such move. */
  next(state: string, event: string, who: { kind: string; name: string }): S
  /** Whether the table has that move. */
  allows(state: string, event: string): boolean
}

/** A member that the record itself has: states and events come from stores and callers. */
const own = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** Builds a state table; the only place that decides whether a move is legal. */
export const stateTable = <S extends string, E extends string>(initial: S, moves: Moves<S, E>): StateTable<S, E> => {
  const target = (state: string, event: string): S | undefined =>
    own(own<{ readonly [event: string]: S | undefined }>(moves, state) ?? {}, event)
  return {
    initial,
    states: Object.keys(moves) as S[],
    moves,
    allows: (state, event) => target(state, event) !== undefined,
    next(state, event, who) {
      const next = target(state, event)
      if (next === undefined) throw fail('wrong_state', { ...who, state, wanted: event })
      return next
    },
  }
}
