/** What a call may use: the token policies of its model and the budget of its key, held from its start to its end. */
import type { ApiKey } from '../../store/store.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Route } from '../routes.ts'
import type { Recorder } from '../recorder.ts'
import type { Budgets } from './budgets.ts'
import type { TokenLimits, Wanted } from './token-limits.ts'

export interface Used {
  readonly input: number
  readonly output: number
  readonly costNanos: number | null
}

export interface Held {
  /** Once; later calls do nothing. */
  settle(used: Used): void
}

export interface Limits {
  /** Throws `tokens_spent`, `budget_spent` and `usage_unrecorded`. */
  hold(route: Route, key: ApiKey, wanted: Wanted): Promise<Held>
}

const retryAfterS = 5

export const createLimits = (deps: {
  readonly tokens: TokenLimits
  readonly budgets: Budgets
  readonly recorder: Pick<Recorder, 'isHealthy'>
}): Limits => ({
  async hold(route, key, wanted) {
    const { tokens, budgets, recorder } = deps
    const { record, policies } = route
    const budget = await budgets.of(key)
    // What cannot be written down cannot be held to a limit after the next start.
    if ((policies.length > 0 || budget) && !recorder.isHealthy)
      throw fail('usage_unrecorded', { name: record.name, retryAfterS })
    const spending = await budget?.reserve(route, wanted)
    try {
      const reserved = await tokens.reserve({ uid: record.uid, name: record.name, policies }, wanted)
      let isSettled = false
      return {
        settle({ input, output, costNanos }) {
          if (isSettled) return
          isSettled = true
          reserved.settle({ input, output })
          spending?.settle(costNanos ?? 0)
        },
      }
    } catch (error) {
      spending?.settle(0)
      throw error
    }
  },
})
