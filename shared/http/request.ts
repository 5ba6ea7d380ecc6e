/** From node:http's request to the plain one that handlers see. */
import type { IncomingMessage } from 'node:http'
import type { Exchange, Request } from '../route.ts'
import { textOf } from '../utf8.ts'

/** Decodes once; bytes that are not UTF-8 are kept (see `utf8.ts`). A malformed escape leaves the raw text. */
export const decodePath = (rawPath: string): string => {
  if (!rawPath.includes('%')) return rawPath
  try {
    return decodeURIComponent(rawPath)
  } catch {
    if (isMalformed(rawPath)) return rawPath
    return rawPath.replace(/(?:%[0-9a-f]{2})+/gi, run => textOf(Buffer.from(run.replaceAll('%', ''), 'hex')))
  }
}

/** True when a percent sign is not followed by two hexadecimal digits. */
export const isMalformed = (rawPath: string): boolean => /%(?![0-9a-f]{2})/i.test(rawPath)

/** The plain request that handlers see; `remote` is who is at the other end, where the socket does not tell. */
export const toRequest = (message: IncomingMessage, exchange?: Exchange, remote?: string): Request => {
  const url = message.url ?? '/'
  const cut = url.indexOf('?')
  const rawPath = cut < 0 ? url : url.slice(0, cut)
  const rawQuery = cut < 0 ? '' : url.slice(cut + 1)
  return {
    method: message.method ?? 'GET',
    rawPath,
    path: decodePath(rawPath),
    search: new URLSearchParams(rawQuery),
    rawQuery,
    headers: message.headers,
    body: message,
    remote: remote ?? message.socket.remoteAddress ?? '',
    local: message.socket.localAddress ?? '',
    connection: message.socket,
    exchange,
  }
}
