import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Exchange } from '../route.ts'

/** An exchange that lasts as long as its answer, or as the connection that it became. */
export const exchangeOf = (answer: ServerResponse | Duplex): Exchange => ({
  isOver: () => answer.destroyed,
  onOver: run => void answer.once('close', run),
  cut: () => void answer.destroy(),
})

/** The exchange of an HTTP answer. One that has not begun is still given when it is cut: a call may be what ended its own credential. */
export const exchangeOfResponse = (response: ServerResponse): Exchange => ({
  isOver: () => response.destroyed,
  onOver: run => void response.once('close', run),
  cut: () => void (response.headersSent && response.destroy()),
})
