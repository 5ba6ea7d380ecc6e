/** An answer of a registry on its way to whoever asked, written down as it passes. */
import type { Arriving } from '../packages/cache.ts'
import { mayKeep } from '../packages/freshness.ts'
import type { Exchange } from './forward.ts'
import { answerKept, type Keeping } from './packages.ts'
import type { RawHeaders, ResponseHead } from './response-head.ts'
import { responseHeaders } from './response-sink.ts'
import type { ResponseSink } from './upstream.ts'

const withoutOwn = (raw: RawHeaders, withheld: ReadonlySet<string>): string[] => {
  const all = responseHeaders(raw, withheld, [])
  const kept: string[] = []
  for (let i = 0; i < all.length; i += 2)
    if (!['content-length', 'age', 'cache-status'].includes((all[i] as string).toLowerCase()))
      kept.push(all[i] as string, all[i + 1] as string)
  return kept
}

const arrivingOf = ({ engine }: Exchange, { cache, wanted }: Keeping, head: ResponseHead): Arriving | undefined => {
  const { framing, status, headers } = head
  // An answer that ends with its connection may have been cut.
  if (!mayKeep(status, headers) || (framing.kind !== 'length' && framing.kind !== 'chunked')) return undefined
  const length = framing.kind === 'length' ? framing.length : undefined
  return cache.receive(wanted, withoutOwn(headers, engine.names.withheld), length)
}

/**
 * Passes an answer on and writes it down. `over` is called when the connection has given all of it. `again` sends the request once more,
 * and keeps nothing of it.
 */
export const keepingSink = (
  exchange: Exchange,
  keeping: Keeping,
  inner: ResponseSink,
  { over, again }: { over: () => void; again: () => void },
): ResponseSink => {
  let arriving: Arriving | undefined
  let stillHolds: ResponseHead | undefined
  const finish = (kept: boolean): void => {
    over()
    if (kept) void arriving?.keep()
    else arriving?.drop()
  }
  const renewed = async ({ headers }: ResponseHead): Promise<void> => {
    const { cache, stale } = keeping
    if (stale) cache.renew(stale, headers)
    if (!stale || !(await answerKept(exchange, keeping, stale))) again()
  }
  return {
    ...inner,
    head(head) {
      if (head.status === 304 && keeping.stale) stillHolds = head
      else {
        arriving = arrivingOf(exchange, keeping, head)
        inner.head(head)
      }
    },
    data(piece, last) {
      arriving?.write(piece)
      const room = inner.data(piece, last)
      if (last) finish(true)
      return room
    },
    end(trailers) {
      finish(trailers.length === 0)
      if (stillHolds) void renewed(stillHolds)
      else inner.end(trailers)
    },
    failed(error, before) {
      finish(false)
      inner.failed(error, before)
    },
  }
}
