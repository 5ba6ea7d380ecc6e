/**
 * Clients that are named by an https address, and described by the document there (draft-ietf-oauth-client-id-metadata-document).
 * Anybody may name one: what is fetched for strangers is little, soon over, and from the internet, not from what this host can reach.
 */
import { lookup as lookUp, type LookupAddress } from 'node:dns'
import { request } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { closedNetworks, metadataServices } from '../../../../../shared/special-networks.ts'

/** Milliseconds, and bytes. */
const [longest, mostBytes] = [5_000, 32 * 1024]

const closed = new BlockList()
for (const network of [...closedNetworks, ...metadataServices]) {
  const [address = '', bits = '32'] = network.split('/')
  closed.addSubnet(address, Number(bits))
}

/** IPv6 that is given out, but for what stands for IPv4 or for documents (IANA's registries of RFC 4291 and RFC 6890). */
const [given, special] = [new BlockList(), new BlockList()]
given.addSubnet('2000::', 3, 'ipv6')
for (const [address, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  special.addSubnet(address, bits, 'ipv6')

const isPublic = (address: string): boolean =>
  isIP(address) === 4
    ? !closed.check(address)
    : isIP(address) === 6 && given.check(address, 'ipv6') && !special.check(address, 'ipv6')

type Found = NodeJS.ErrnoException | null

/** Looked at before anything is sent, and what was looked at is what is connected to. */
const publicOnly: LookupFunction = (hostname, options, done) => {
  lookUp(hostname, { ...options, all: true }, (error: Found, addresses: LookupAddress[]) => {
    const [first] = addresses ?? []
    const wrong = error ?? (first && addresses.every(one => isPublic(one.address)) ? null : new Error('not public'))
    if (wrong || !first) return done(wrong ?? new Error('no address'), '', 4)
    if (options.all) return (done as (error: Found, all: LookupAddress[]) => void)(null, addresses)
    done(null, first.address, first.family)
  })
}

export interface DocumentConfig {
  /** Hosts that may be anywhere, at any port. */
  readonly hosts: readonly string[]
  /** Authorities beside those of Node, in PEM; '' for none. */
  readonly ca: string
}

const check = (url: URL, isListed: boolean): void => {
  if (url.protocol !== 'https:') throw new Error('is not https')
  if (isListed) return
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && !isPublic(literal)) throw new Error('is not public')
  if (url.port !== '') throw new Error('is not at the port of https')
}

const answered = (url: URL, isListed: boolean, ca: string): Promise<Response> =>
  new Promise((done, failed) => {
    const signal = AbortSignal.timeout(longest)
    const asked = request(
      url,
      {
        agent: false,
        signal,
        headers: { accept: 'application/json' },
        ...(isListed ? {} : { lookup: publicOnly }),
        ...(ca ? { ca: [...rootCertificates, ca] } : {}),
      },
      answer => {
        const pieces: Buffer[] = []
        let size = 0
        answer.on('data', (piece: Buffer) => {
          size += piece.length
          if (size > mostBytes) asked.destroy(new Error('is too long'))
          else pieces.push(piece)
        })
        answer.on('error', failed)
        answer.on('end', () => {
          const { statusCode: status = 502, headers } = answer
          const kept = Object.entries(headers).flatMap(([name, value]) =>
            ['cache-control', 'expires', 'content-type'].includes(name) ? [[name, String(value)]] : [],
          )
          // A redirect, or nothing at all, has no body that counts.
          const body = status === 200 ? Buffer.concat(pieces) : null
          done(new Response(body, { status: status < 200 ? 502 : status, headers: Object.fromEntries(kept) as never }))
        })
      },
    )
    asked.on('error', failed)
    asked.end()
  })

export const documentFetch =
  ({ hosts, ca }: DocumentConfig) =>
  async (given: string | URL): Promise<Response> => {
    const url = new URL(given)
    const isListed = hosts.includes(url.hostname)
    check(url, isListed)
    return answered(url, isListed, ca)
  }
