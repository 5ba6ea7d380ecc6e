import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Exchange } from '../route.ts'

/** An exchange that lasts as long as its answer, or as the connection that it became. */
export const exchangeOf = (answer: ServerResponse | Duplex): Exchange => ({
  isOver: () => answer.destroyed,
  onOver: run => void answer.once('close', run),
  cut: () => void answer.destroy(),
})
