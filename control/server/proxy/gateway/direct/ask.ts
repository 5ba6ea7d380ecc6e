/** A request to a workload on a kept connection, once more where the first attempt says nothing. */
import type { Link } from '../../../../core/channel/connections.ts'
import type { Far } from '../../../../core/channel/places.ts'
import { isRefused } from '../../../../core/channel/unanswered.ts'
import type { Asking } from './answer-state.ts'
import { exchange } from './exchange.ts'

export type Call = Omit<Asking, 'far'> & { readonly link: Link }

/** Begins at once where a connection rests. */
const attempt = (call: Call, isFresh: boolean): void => {
  const { link, settle } = call
  const given = link.take(isFresh)
  if (!(given instanceof Promise)) return begin(call, given, isFresh)
  given.then(far => begin(call, far, isFresh)).catch((error: unknown) => settle({ how: 'failed', error }))
}

const begin = (call: Call, far: Far, isFresh: boolean): void => {
  const { link, side, head, body, headersOf, settle } = call
  const { turn } = side
  exchange({
    far,
    side,
    head,
    body,
    headersOf,
    settle(ending) {
      const { method } = turn.request
      const mayRepeat = !isFresh && turn.length === 0 && (method === 'GET' || method === 'HEAD')
      if (ending.how === 'answered') link.giveBack(far, ending.restMs)
      // A kept connection that the workload closed at the same moment: nothing of the request was answered.
      else if (mayRepeat && ending.how === 'failed' && isRefused(ending.error)) return attempt(call, true)
      settle(ending)
    },
  })
}

/** Settles with how it ended. */
export const ask = (call: Call): void => attempt(call, false)
