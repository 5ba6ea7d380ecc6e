/** The address the host listens on: whether it can be had, and how others reach it. */
import { createServer, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { errno, fail, messageOf } from '../../shared/errors.ts'
import { speaksTls, type TlsConfig } from './config/tls.ts'

interface Place {
  readonly host: string
  readonly port: number
}

type Interfaces = ReturnType<typeof networkInterfaces>

/** `host:port`, with the brackets that an IPv6 address needs. */
export const authority = ({ host, port }: Place): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`

/** What to do about an address that cannot be listened on, by the system's code. */
const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there: end it, or set HUTCH_PORT to another port',
  EADDRNOTAVAIL: 'this machine does not have that address: set HUTCH_HOST to one of its own',
  EACCES: 'ports below 1024 are for root: run as root, or set HUTCH_PORT to a higher one',
  ENOTFOUND: 'that name has no address: set HUTCH_HOST to an address of this machine',
  EAI_AGAIN: 'that name cannot be looked up now: set HUTCH_HOST to an address of this machine',
}

/** The `unavailable` error for a failed listen. */
export const listenFailure = (error: unknown, place: Place) =>
  fail(
    'unavailable',
    {
      what: `cannot listen on ${authority(place)} (${errno(error) ?? messageOf(error)})`,
      next: remedies[errno(error) ?? ''] ?? 'set HUTCH_HOST and HUTCH_PORT to another address',
    },
    error,
  )

/** Listens and stops again. Throws `unavailable` when the address cannot be had, before anything else is set up. */
export const checkAddress = async (place: Place): Promise<void> => {
  const server = createServer(socket => socket.destroy())
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ ...place, exclusive: true }, resolve)
    })
  } catch (error) {
    throw listenFailure(error, place)
  }
  await new Promise(resolve => server.close(resolve))
}

const isAnyAddress = (host: string): boolean => host === '0.0.0.0' || /^[0:]+$/.test(host)

/** An address of this machine that others reach, IPv4 first; undefined when it has none. Links to sandboxes do not count. */
const ownAddress = (interfaces: Interfaces): string | undefined => {
  const found = Object.entries(interfaces)
    .filter(([name]) => !/^(h[0-9a-f]{8}-|docker|br-|veth|virbr)/.test(name))
    .flatMap(([, addresses]) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !/^(fe80:|169\.254\.)/i.test(address))
  return (found.find(({ family }) => family === 'IPv4') ?? found[0])?.address
}

/**
 * What addresses of sandboxes begin with, without a slash at its end: the configured URL, or the address that is listened
 * on. Nobody can connect to "all addresses", so that one of the machine's own stands for it.
 */
export const publicUrlOf = (
  { publicUrl, host, tls }: { readonly publicUrl: string; readonly host: string; readonly tls?: TlsConfig },
  port: number,
  interfaces: Interfaces = networkInterfaces(),
): string => {
  if (publicUrl) return publicUrl
  const reachable = isAnyAddress(host) ? (ownAddress(interfaces) ?? '127.0.0.1') : host
  const scheme = tls && speaksTls(tls) ? 'https' : 'http'
  return `${scheme}://${authority({ host: reachable, port })}`
}
