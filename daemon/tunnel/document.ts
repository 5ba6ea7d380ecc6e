/** The tunnel document: JSON in base64, sent to the API or set in the environment. */
import { fail, messageOf } from '../../shared/errors.ts'
import { parse, s, text } from '../../shared/schema.ts'
import { familyOf, masked, parseEndpoint, parseNetwork, type Endpoint, type Network } from './address.ts'

/** The settings of a tunnel, with all defaults filled in. */
export interface TunnelSettings {
  readonly local: Network
  readonly endpoint: Endpoint
  /** Raw keys of 32 bytes. */
  readonly peerKey: Buffer
  readonly privateKey: Buffer
  readonly mtu: number
  readonly listenPort: number
  readonly interface: string
  /** Host bits are cleared, and none occurs twice. */
  readonly allowed: readonly Network[]
  /** Seconds; 0 sends none. */
  readonly keepalive: number
  /** All traffic goes through the tunnel, not only that to `allowed`. */
  readonly routeAll: boolean
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Decodes standard base64 with padding, ignoring line breaks; undefined when the text is none. */
const decode = (encoded: string): Buffer | undefined => {
  const packed = encoded.replace(/[\r\n]/g, '')
  return base64.test(packed) ? Buffer.from(packed, 'base64') : undefined
}

const checked = <T>(read: (value: string) => T | undefined, reason: string) =>
  s.pipe(
    s.string().check(s.refine(value => read(value) !== undefined, reason)),
    s.transform((value: string) => read(value) as T),
  )

const key = checked(value => {
  const bytes = decode(value)
  return bytes?.length === 32 ? bytes : undefined
}, 'must be base64 of 32 bytes')

const network = (example: string) =>
  checked(parseNetwork, `must be an address with a prefix length, such as ${example}`)
const whole = (min: number, max: number) => s.nullish(s.int().check(s.minimum(min), s.maximum(max)))
/** A plain interface name: one with a `+` would match several interfaces in a firewall rule. */
const interfaceName = /^(?!all$|default$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$/

const document = s.object({
  local_ip: network('10.9.0.2/32'),
  peer_endpoint: checked(parseEndpoint, 'must be host:port, or [address]:port for IPv6'),
  peer_public_key: key,
  private_key: key,
  mtu: s.nullish(
    s.int().check(s.refine(value => value === 0 || (value >= 68 && value <= 65_535), 'must be between 68 and 65535')),
  ),
  listen_port: whole(0, 65_535),
  interface_name: s.nullish(
    text(15).check(
      s.refine(value => value === '' || interfaceName.test(value), 'must be 1 to 15 letters, digits, dots, dashes'),
    ),
  ),
  allowed_ips: s.nullish(s.array(network('10.0.0.0/8')).check(s.maxLength(1_024))),
  persistent_keepalive: whole(0, 65_535),
  route_all: s.nullish(s.boolean()),
})

const distinct = (networks: readonly Network[]): Network[] => {
  const found = new Map(networks.map(masked).map(one => [`${one.address}/${one.prefix}`, one]))
  return [...found.values()]
}

const everything: Network = { family: 4, address: '0.0.0.0', prefix: 0 }

const read = (encoded: string): TunnelSettings => {
  const bytes = decode(encoded)
  if (!bytes) throw new Error('config: must be base64')
  const given = parse(document, JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)), 'config')
  const { peer_endpoint: endpoint, allowed_ips: allowed } = given
  const routeAll = given.route_all ?? false
  if (routeAll && !familyOf(endpoint.host))
    throw new Error('peer_endpoint: must be an address, not a name, when route_all is on')
  return {
    local: given.local_ip,
    endpoint,
    peerKey: given.peer_public_key,
    privateKey: given.private_key,
    mtu: given.mtu || 1_420,
    listenPort: given.listen_port || 51_820,
    interface: given.interface_name || 'wg0',
    allowed: distinct(allowed?.length ? allowed : [everything]),
    keepalive: given.persistent_keepalive ?? 25,
    routeAll,
  }
}

/** Parses a document. Throws `unprocessable` naming the wrong field; the message never contains a key. */
export const readTunnelDocument = (encoded: string): TunnelSettings => {
  try {
    return read(encoded)
  } catch (error) {
    const why = error instanceof SyntaxError || error instanceof TypeError ? 'config: must be JSON' : messageOf(error)
    throw fail('unprocessable', { reason: `invalid tunnel config: ${why}` })
  }
}
