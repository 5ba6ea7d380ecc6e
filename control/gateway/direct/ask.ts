/** A request to a workload on a kept connection, once more where the first attempt says nothing. */
import type { Connections, Destination } from '../../channel/connections.ts'
import type { Far } from '../../channel/places.ts'
import type { Turn } from '../../../shared/lane/turn.ts'
import { isRefused } from '../forward.ts'
import type { Ending } from './answer-state.ts'
import { exchange } from './exchange.ts'

export type Call = Readonly<Pick<Parameters<typeof exchange>[0], 'head' | 'headersOf' | 'begun' | 'side'>> & {
  readonly turn: Turn
  readonly to: Destination
}

/** Resolves with how it ended. */
export const ask = async (connections: Connections, call: Call, body: Buffer | undefined): Promise<Ending> => {
  const { turn, to } = call
  const { method } = turn.request
  const mayRepeat = turn.length === 0 && (method === 'GET' || method === 'HEAD')
  for (let isFresh = false; ; isFresh = true) {
    let far: Far
    try {
      const given = connections.take(to, 'client', isFresh)
      far = given instanceof Promise ? await given : given
    } catch (error) {
      return { how: 'failed', error }
    }
    const ending = await exchange({ ...call, far, body })
    if (ending.how === 'answered') connections.giveBack(far, ending.restMs)
    // A kept connection that the workload closed at the same moment: nothing of the request was answered.
    else if (ending.how === 'failed' && mayRepeat && !isFresh && isRefused(ending.error)) continue
    return ending
  }
}
