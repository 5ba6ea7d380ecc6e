/** An answer that is not a workload's, but the gateway's own. */
import { STATUS_CODES } from 'node:http'
import type { Turn } from '../../../shared/lane/turn.ts'
import type { ErrorReply } from '../errors.ts'
import { begin, clientSide, end, onceOut, write } from './client-side.ts'

/** Writes an answer of our own, and throws away what of the request's body is to come. */
export const sendReply = (turn: Turn, { status, headers, body }: ErrorReply, date: () => string): void => {
  const side = clientSide(turn, date)
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
