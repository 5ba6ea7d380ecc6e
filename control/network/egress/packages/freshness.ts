/** Which requests and answers a shared cache may have to do with, and for how long (RFC 9111). Whatever is not known to be harmless is not. */
import type { RawHeaders } from '../http/response-head.ts'

/**
 * What a request may say and still be answered from what others have fetched: nothing of it is a credential. `true` is passed on to the
 * registry, and so part of the key; the rest is not sent when the answer is to be kept, so that nobody can steer what others get.
 */
const harmless: ReadonlyMap<string, boolean> = new Map([
  ['accept', true],
  ['accept-encoding', true],
  ...[
    'user-agent',
    'cache-control',
    'pragma',
    'if-none-match',
    'if-modified-since',
    'if-range',
    'range',
    'npm-command',
    'npm-in-ci',
    'npm-scope',
    'npm-session',
    'npm-auth-type',
    'pacote-version',
    'pacote-req-type',
    'pacote-pkg-id',
    'pacote-integrity',
    'upgrade-insecure-requests',
  ].map(name => [name, false] as const),
])

export interface Said {
  /** The headers that the answer depends on. */
  readonly accept: string
  readonly acceptEncoding: string
  readonly ifNoneMatch: string
  readonly ifModifiedSince: string
  readonly range: boolean
  /** Whoever asks does not want what is kept without asking the registry. */
  readonly anew: boolean
}

const valueOf = (headers: RawHeaders, wanted: string): string => {
  const values: string[] = []
  for (let i = 0; i < headers.length; i += 2)
    if ((headers[i] as string).toLowerCase() === wanted) values.push(headers[i + 1] as string)
  return values.join(', ')
}

/** Characters; clients of registries send some 150. */
const maxAccepted = 1_024

/** What a request says of what it takes; undefined when it says anything else, a credential for one. `ours` are names that we add. */
export const readSaid = (headers: RawHeaders, ours: ReadonlySet<string>): Said | undefined => {
  for (let i = 0; i < headers.length; i += 2) {
    const lower = (headers[i] as string).toLowerCase()
    if (!harmless.has(lower) && !ours.has(lower)) return undefined
  }
  // They are part of the key, which is held in memory.
  if (valueOf(headers, 'accept').length + valueOf(headers, 'accept-encoding').length > maxAccepted) return undefined
  const control = valueOf(headers, 'cache-control').toLowerCase()
  if (/no-store|only-if-cached/.test(control)) return undefined
  return {
    accept: valueOf(headers, 'accept'),
    acceptEncoding: valueOf(headers, 'accept-encoding'),
    ifNoneMatch: valueOf(headers, 'if-none-match'),
    ifModifiedSince: valueOf(headers, 'if-modified-since'),
    range: valueOf(headers, 'range') !== '',
    anew: /no-cache|max-age=0/.test(control) || /no-cache/i.test(valueOf(headers, 'pragma')),
  }
}

/** Headers that say whose the answer is, or that it is of this connection. */
const personal: ReadonlySet<string> = new Set([
  'set-cookie',
  'set-cookie2',
  'www-authenticate',
  'content-range',
  'trailer',
])
const maxHead = 16 * 1024

/** An answer with that status and these headers may be kept for others. */
export const mayKeep = (status: number, headers: RawHeaders): boolean => {
  if (status !== 200 || headers.join('').length > maxHead) return false
  for (let i = 0; i < headers.length; i += 2) if (personal.has((headers[i] as string).toLowerCase())) return false
  const vary = valueOf(headers, 'vary')
  return !vary.includes('*') && !/no-store|private/i.test(valueOf(headers, 'cache-control'))
}

const maxFreshMs = 60 * 60_000

/** How long what may change is shown without asking again: as its registry says, an hour at most. */
export const freshForMs = (headers: RawHeaders): number => {
  const control = valueOf(headers, 'cache-control').toLowerCase()
  if (/no-cache/.test(control)) return 0
  const seconds = /s-maxage=(\d{1,9})/.exec(control)?.[1] ?? /max-age=(\d{1,9})/.exec(control)?.[1] ?? '0'
  const age = /^\d{1,9}$/.exec(valueOf(headers, 'age'))?.[0] ?? '0'
  return Math.min(maxFreshMs, Math.max(0, Number(seconds) - Number(age)) * 1000)
}

export interface Validators {
  readonly etag: string
  readonly lastModified: string
}

export const validatorsOf = (headers: RawHeaders): Validators => ({
  etag: valueOf(headers, 'etag'),
  lastModified: valueOf(headers, 'last-modified'),
})

/** Whoever asks has the same already (RFC 9110, section 13). */
export const hasItAlready = ({ ifNoneMatch, ifModifiedSince }: Said, { etag, lastModified }: Validators): boolean => {
  const plain = (tag: string) => tag.trim().replace(/^W\//, '')
  if (ifNoneMatch) return etag !== '' && ifNoneMatch.split(',').some(tag => plain(tag) === plain(etag))
  return ifModifiedSince !== '' && ifModifiedSince === lastModified
}

export const contentEncodingOf = (headers: RawHeaders): string => valueOf(headers, 'content-encoding').toLowerCase()
