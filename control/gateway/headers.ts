/** Which headers go on to a workload, and which never do. */
import { hopByHop, namedByConnection } from '../../shared/http/hop-by-hop.ts'

/**
 * Request headers for the workload as a flat list: hop-by-hop ones and those in `withheld` (lower case: our
 * credentials, which tenant code must never see, and what only we may say) left out, `identity` (names and values) and
 * forwarding facts added.
 */
export const requestHeaders = (
  raw: readonly string[],
  options: {
    withheld: ReadonlySet<string>
    identity: readonly string[]
    remote: string
    host: string
    keepUpgrade?: boolean
  },
): string[] => {
  const { withheld, identity, remote, host, keepUpgrade } = options
  const headers: string[] = []
  const named = namedByConnection(raw)
  let forwarded = ''
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    // Applications that see headers as variables (CGI, WSGI) cannot tell an underscore from a hyphen.
    if (withheld.has(name.replaceAll('_', '-'))) continue
    if (name === 'x-forwarded-for') forwarded += `${raw[i + 1]}, `
    else if (keepUpgrade && (name === 'connection' || name === 'upgrade')) headers.push(name, raw[i + 1] as string)
    else if (!hopByHop.has(name) && !named.has(name) && name !== 'x-forwarded-host' && name !== 'expect')
      headers.push(name, raw[i + 1] as string)
  }
  headers.push(...identity, 'x-forwarded-for', `${forwarded}${remote}`, 'x-forwarded-host', host)
  return headers
}

/** Where a workload sends the client: it does not know what stands before its own addresses. */
const outside = (location: string, base: string): string =>
  /^\/(?!\/)/.test(location) && !`${location}/`.startsWith(`${base}/`) ? `${base}${location}` : location

/** Response headers for the client, from undici's raw pairs; `base` is what our address has before the workload's. */
export const responseHeaders = (raw: readonly (Buffer | string)[], base = ''): string[] => {
  const headers: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]?.toString('latin1') ?? ''
    const value = raw[i + 1]?.toString('latin1') ?? ''
    const lower = name.toLowerCase()
    if (!hopByHop.has(lower)) headers.push(name, lower === 'location' ? outside(value, base) : value)
  }
  return headers
}
