/** Headers that are about one connection and never go on to the next (RFC 9110, section 7.6.1). */

/** In lower case. */
export const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Names that no `Connection` header may take away: what the message means depends on them. */
const kept = ['host', 'content-length', 'content-type', 'x-forwarded-for', 'x-forwarded-host']

/** What the `Connection` headers of a message name as meant for this connection only; `raw` is names and values in turn. */
export const namedByConnection = (raw: readonly string[]): ReadonlySet<string> => {
  const names = new Set<string>()
  for (let i = 0; i < raw.length; i += 2)
    if ((raw[i] as string).toLowerCase() === 'connection')
      for (const part of (raw[i + 1] as string).split(',')) names.add(part.trim().toLowerCase())
  for (const name of kept) names.delete(name)
  return names
}
