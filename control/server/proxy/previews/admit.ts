/** Who may see a preview, what of the request the application gets, and what of its answer the caller gets. */
import { fail } from '../../../../shared/errors.ts'
import { bearerOf } from '../../../core/access/credential.ts'
import type { Keys } from '../../../core/access/keys.ts'
import type { Right } from '../../../core/access/standing.ts'
import type { Destination } from '../../../core/channel/connections.ts'
import { opaqueOrigin, type Withheld } from '../gateway/headers.ts'
import type { Asked } from '../../../../shared/lane/turn.ts'
import type { Address, ApiKey } from '../../../core/store/store.ts'
import type { PreviewNames } from '../../../core/kinds/preview-url.ts'
import type { PreviewAddress } from './address.ts'
import type { CustomHost } from './domains.ts'
import { facingOf, type Facing } from './facing.ts'
import { findPreview, needToken, rightOf, type FindDeps, type Preview } from './find.ts'
import { readToken, type TokenNames } from './token.ts'

export interface PreviewOptions extends PreviewNames {
  readonly tokens: TokenNames
  /** Lower-case names of headers that no application gets from a client: credentials, and what only the gateway says. */
  readonly withheld: readonly string[]
  /** Lower-case prefixes of headers that only we send. */
  readonly ourHeaders: readonly string[]
  /** Lower-case names of headers that say for whom a fallback stands, each in every spelling. */
  readonly fallback: {
    readonly flag: readonly string[]
    readonly preview: readonly string[]
    readonly domain: readonly string[]
  }
  /** The words in our headers: `Svc`. */
  readonly words: readonly string[]
  /** The box is reached by TLS. */
  readonly isSecure: boolean
}

/** Stands for the sandbox's own API. */
const apiPort = 443

export interface Admitted {
  readonly preview: Preview
  readonly target: string
  readonly facing: Facing
  readonly withheld: Withheld
  /** Headers for the application, names and values. */
  readonly added: readonly string[]
  /** For the caller. */
  readonly cookies: readonly string[]
  /** What lets it go on. */
  readonly right: Right
  /** The key of the API that came along, and goes to no application. */
  readonly key: ApiKey | undefined
}

export interface Admitting extends FindDeps {
  readonly keys: Pick<Keys, 'verify'>
  readonly options: PreviewOptions
}

/** Under every name. */
const cookiesFor = ({ options }: Admitting, token: string, expiresAt: number | null): string[] => {
  const { tokens, isSecure } = options
  const ends = expiresAt === null ? '' : `; Expires=${new Date(expiresAt).toUTCString()}`
  const more = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}${ends}`
  return tokens.cookies.map(name => `${name}=${token}; ${more}`)
}

const fallbackHeaders = ({ fallback }: PreviewOptions, { domain, label }: CustomHost): string[] => [
  ...fallback.flag.flatMap(name => [name, 'true']),
  ...fallback.preview.flatMap(name => [name, label]),
  ...fallback.domain.flatMap(name => [name, domain]),
]

/** Throws `route_not_found`, `unauthenticated`. */
export const admit = async (
  context: Admitting,
  address: PreviewAddress,
  request: Pick<Asked, 'method' | 'headers'>,
): Promise<Admitted> => {
  const { options } = context
  const preview = await findPreview(context, address)
  const path = `${request.headers.host ?? ''}${address.base}`
  if (!preview) throw fail('route_not_found', { method: request.method ?? 'GET', path })
  // A cookie of the API's origin is nobody's here.
  const names = { ...options.tokens, withCookies: !address.isShared }
  const { token, fromQuery, target, cookies } = readToken(request, address.target, names)
  const expiresAt = preview.isPublic ? null : await needToken(context, preview, token)
  const extra = Object.entries(preview.requestHeaders).map(([name, value]) => [name.toLowerCase(), value] as const)
  // A program may send its key of the API along, and no application is to have it.
  const bearer = bearerOf(request.headers.authorization)
  const key = bearer === undefined ? undefined : await context.keys.verify(bearer).catch(() => undefined)
  const kept = cookies ? ['cookie', cookies] : []
  const { fallbackFor } = preview
  const facing = facingOf(preview, address, request)
  return {
    preview,
    target,
    facing,
    key,
    right: rightOf(context, address, preview, token),
    // What is kept of the cookies is added.
    withheld: {
      headers: new Set([
        ...options.withheld,
        ...options.tokens.headers,
        ...(key ? ['authorization'] : []),
        ...extra.map(([name]) => name),
        ...facing.withheld,
      ]),
      cookies: true,
      address: facing.isHidden,
    },
    added: [...facing.added, ...kept, ...extra.flat(), ...(fallbackFor ? fallbackHeaders(options, fallbackFor) : [])],
    cookies: fromQuery && token && !preview.isPublic && !address.isShared ? cookiesFor(context, token, expiresAt) : [],
  }
}

/**
 * The port that is meant. The API of a sandbox is for holders of a token only, and is spoken to as somebody inside of the
 * sandbox would: its owner's routes (tunnel, upgrade, drives, environment) refuse that. Throws `forbidden`.
 */
export const destinationOf = (address: Address, { port, isPublic }: Preview, target: string): Destination => {
  if (port === address.channel?.port)
    throw fail('invalid_argument', { field: 'port', reason: `${port} of a sandbox is the host's own` })
  if (port !== apiPort && port !== address.port) return { address, port }
  if (isPublic) throw fail('forbidden', { reason: 'a public preview does not lead to the API of its sandbox' })
  // Without a channel the daemon could not tell who asks.
  if (!address.channel) throw fail('forbidden', { reason: 'the machine of this sandbox has to be upgraded first' })
  // In the sandbox a tenant could have become the daemon, and a page of its asks for keys.
  if (/^\/swagger(?=[/?]|$)/.test(target)) throw fail('not_found', { kind: 'page', name: '/swagger' })
  return { address, port: address.port }
}

/** The application's headers with what the preview says in their place. */
export const reshaping = ({ preview, cookies, facing }: Admitted, { isShared }: PreviewAddress) => {
  const own = Object.entries(preview.responseHeaders)
  const dropped = new Set([...own.map(([name]) => name.toLowerCase()), ...(isShared ? ['set-cookie'] : [])])
  const added = [
    ...own.flat(),
    ...cookies.flatMap(cookie => ['set-cookie', cookie]),
    // The preview's own stands beside it.
    ...(isShared && dropped.has('content-security-policy') ? ['content-security-policy', opaqueOrigin] : []),
  ]
  return (headers: readonly string[]): string[] => {
    const kept: string[] = []
    for (let at = 0; at < headers.length; at += 2) {
      const [name, value] = [headers[at] as string, headers[at + 1] as string]
      if (!dropped.has(name.toLowerCase())) kept.push(name, facing.outside(name.toLowerCase(), value))
    }
    return [...kept, ...added]
  }
}
