/** An answer that is not a workload's, but the gateway's own. */
import { STATUS_CODES } from 'node:http'
import type { ErrorReply } from '../errors.ts'
import { begin, end, onceOut, write, type ClientSide } from './client-side.ts'

/** Writes an answer of our own, and throws away what of the request's body is to come. */
export const sendReply = (side: ClientSide, { status, headers, body }: ErrorReply): void => {
  const { turn } = side
  const isBare = turn.request.method === 'HEAD'
  begin(side, {
    status,
    reason: STATUS_CODES[status] ?? '',
    headers: Object.entries(headers).flat(),
    framing: isBare ? 'none' : { bytes: Buffer.byteLength(body) },
  })
  if (!isBare) write(side, [Buffer.from(body)])
  end(side)
  onceOut(side, () => turn.done(true))
}
