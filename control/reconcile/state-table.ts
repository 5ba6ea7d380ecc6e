import { fail } from '../../shared/errors.ts'

/** `state → { event → next state }`. A misspelt target does not compile. */
export type Table<S extends string, E extends string> = { readonly [state in S]: { readonly [event in E]?: S } }

export interface Lifecycle<S extends string, E extends string> {
  readonly initial: S
  readonly states: readonly S[]
  readonly table: Table<S, E>
  /** The state after `event`; throws `wrong_state` naming state and event when the table has no such move. */
  next(state: string, event: E, who: { kind: string; name: string }): S
  /** Whether the table has that move. */
  allows(state: string, event: E): boolean
}

/** Builds a lifecycle from its table; the only place that decides whether a move is legal. */
export const lifecycle = <S extends string, E extends string>(initial: S, table: Table<S, E>): Lifecycle<S, E> => {
  const target = (state: string, event: E): S | undefined =>
    (table as Record<string, { [event in E]?: S }>)[state]?.[event]
  return {
    initial,
    states: Object.keys(table) as S[],
    table,
    allows: (state, event) => target(state, event) !== undefined,
    next(state, event, who) {
      const next = target(state, event)
      if (next === undefined) throw fail('wrong_state', { ...who, state, wanted: event })
      return next
    },
  }
}
