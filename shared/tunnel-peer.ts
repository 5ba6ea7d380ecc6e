/** The peer that a body of `PUT /network/tunnel/config` names, for the host; the daemon reads the whole document (`daemon/tunnel/document.ts`). */

/** A name or an address of IPv4, or one of IPv6 without its brackets. */
export interface TunnelPeer {
  readonly host: string
  readonly port: number
}

const endpoint = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

/** The peer in a document, base64 of JSON; undefined for what is no document. */
export const peerInDocument = (encoded: string): TunnelPeer | undefined => {
  try {
    const given = member(JSON.parse(Buffer.from(encoded, 'base64').toString('utf8')), 'peer_endpoint')
    const [, six, host = six, port] = endpoint.exec(typeof given === 'string' ? given : '') ?? []
    return host === undefined ? undefined : { host, port: Number(port) }
  } catch {
    // No JSON: there is no peer in it.
    return undefined
  }
}

/** The peer that a body names; undefined for what is no such body. */
export const peerInBody = (body: string): TunnelPeer | undefined => {
  try {
    const config = member(JSON.parse(body), 'config')
    return typeof config === 'string' ? peerInDocument(config) : undefined
  } catch {
    return undefined
  }
}
