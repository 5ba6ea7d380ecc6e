/** Writes a server's response to the sandbox that asked, no faster than it reads. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { hopByHop, namedByConnection } from '../../../../shared/http/hop-by-hop.ts'
import { mayTrail } from './fields.ts'
import type { RawHeaders } from './response-head.ts'
import type { ResponseSink, Upstream } from './upstream.ts'

export interface SinkOptions {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly upstream: Upstream
  /** Header lines of our own. */
  readonly added: RawHeaders
  /** Lower case: ours, so servers cannot send them. */
  readonly withheld: ReadonlySet<string>
  readonly failed: (before: boolean) => void
}

/** Header lines for the sandbox: without what belongs to the server's connection. */
export const responseHeaders = (raw: RawHeaders, withheld: ReadonlySet<string>, added: RawHeaders): string[] => {
  let named: ReadonlySet<string> | undefined
  const kept: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const lower = (raw[i] as string).toLowerCase()
    if (lower === 'connection') named = namedByConnection(raw)
    else if (!hopByHop.has(lower) && !withheld.has(lower)) kept.push(raw[i] as string, raw[i + 1] as string)
  }
  if (named && named.size > 0)
    for (let i = kept.length - 2; i >= 0; i -= 2) if (named.has((kept[i] as string).toLowerCase())) kept.splice(i, 2)
  kept.push(...added)
  return kept
}

const toTrailers = (raw: RawHeaders, withheld: ReadonlySet<string>): [string, string][] => {
  const trailers: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2)
    if (mayTrail((raw[i] as string).toLowerCase(), withheld)) trailers.push([raw[i] as string, raw[i + 1] as string])
  return trailers
}

/** Up to so much goes out in one write with its head: of text Node makes one, of bytes two. */
const oneWriteBytes = 8 * 1024

export const responseSink = (options: SinkOptions): ResponseSink => {
  const { req, res, upstream, added, withheld, failed } = options
  const finish = () => {
    // An answer that came before the request was all there: what is still to come is for nobody.
    if (!req.complete) res.shouldKeepAlive = false
  }
  let waits = false
  const goOn = () => {
    waits = false
    upstream.resume()
  }
  return {
    informed(head) {
      if (head.status === 103) res.writeEarlyHints(earlyLinks(head.headers))
    },
    head(head) {
      res.writeHead(head.status, head.reason, responseHeaders(head.headers, withheld, added))
    },
    data(piece, last) {
      if (last) {
        finish()
        if (piece.length <= oneWriteBytes) res.end(piece.toString('latin1'), 'latin1')
        else res.end(piece)
        return true
      }
      if (res.write(piece)) return true
      if (!waits) res.once('drain', goOn)
      waits = true
      return false
    },
    end(trailers) {
      finish()
      if (trailers.length > 0) res.addTrailers(toTrailers(trailers, withheld))
      res.end()
    },
    upgraded(_head, socket) {
      // Asked for by nobody: only WebSockets are passed on, elsewhere.
      socket.destroy()
      failed(false)
    },
    failed: (_error, before) => failed(before),
  }
}

/** What writeEarlyHints takes; it throws at anything else, and the server may have sent anything. */
const linkValue = /^<[^<>\s"]*>(?:; ?[\w-]+(?:=[\w/.*+-]+|="[\w/.*+-]*")?)*$/

const earlyLinks = (raw: RawHeaders): { link: string[] } => {
  const link: string[] = []
  for (let i = 0; i < raw.length; i += 2)
    if ((raw[i] as string).toLowerCase() === 'link' && linkValue.test(raw[i + 1] as string))
      link.push(raw[i + 1] as string)
  return { link }
}
