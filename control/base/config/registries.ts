/** Registries that images may be pulled from, and image aliases. */
import { integerOf, listOf, refuse, type Environment } from './values.ts'

/** Where a pull may connect to: one host, the hosts of a domain, or any host. */
export interface RegistryRule {
  /** Lower case; `*.example.com` for the hosts of a domain, `*` for any host with a public address. */
  readonly host: string
  /** Absent: the port that belongs to the scheme. */
  readonly port?: number
  /** HTTP instead of HTTPS: credentials and images travel unencrypted. */
  readonly plain: boolean
}

/** Where Docker Hub sends a pull: its API, its tokens, its storage. */
const dockerHub = ['registry-1.docker.io', 'auth.docker.io', '*.docker.com', '*.r2.cloudflarestorage.com']

const entry = /^(http:\/\/)?(\*|(?:\*\.)?[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)(?::([1-9]\d{0,4}))?$/

const rulesOf = (text: string): RegistryRule[] => {
  const [, scheme, host = '', digits] = entry.exec(text) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  if (!host || (port ?? 1) > 65_535 || (host === '*' && (scheme || port)))
    throw refuse(
      'HUTCH_REGISTRIES',
      `"${text}" is not a registry, like ghcr.io, *.example.com or http://localhost:5000`,
    )
  if (host === 'docker.io') return dockerHub.map(one => ({ host: one, plain: false }))
  return [{ host, plain: scheme !== undefined, ...(port === undefined ? {} : { port }) }]
}

/** Any public one unless told otherwise; none for `none`. */
export const registriesFrom = (env: Environment): RegistryRule[] => {
  const words = listOf(env, 'HUTCH_REGISTRIES')
  if (words.length === 0) return [{ host: '*', plain: false }]
  if (words.includes('none') && words.length > 1) throw refuse('HUTCH_REGISTRIES', '"none" stands alone')
  return words[0] === 'none' ? [] : words.flatMap(word => rulesOf(word.toLowerCase()))
}

/** `base-image` is `base` unless told otherwise. */
const ownAliases: Readonly<Record<string, string>> = { 'base-image': 'base' }

const aliasPattern = /^[a-z0-9][a-z0-9._/-]*$/

/** `name=reference,…`: further names of images. */
export const aliasesFrom = (env: Environment): Readonly<Record<string, string>> => {
  const given = listOf(env, 'HUTCH_IMAGE_ALIASES').map(text => {
    const [name = '', target = '', ...more] = text.split('=')
    if (!aliasPattern.test(name) || !/^[a-z0-9][\w./:@-]*$/.test(target) || more.length > 0)
      throw refuse(
        'HUTCH_IMAGE_ALIASES',
        `"${text}" is not name=reference, like python=docker.io/library/python:3.12-slim`,
      )
    return [name, target] as const
  })
  const names = given.map(([name]) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw refuse('HUTCH_IMAGE_ALIASES', `"${twice}" is there twice`)
  return { ...ownAliases, ...Object.fromEntries(given) }
}

/** What one pull may use. */
export interface PullLimits {
  /** Bytes of all layers together, unpacked: 1 MiB to 1 TiB. Default 20 GiB. */
  readonly maxBytes: number
  /** Pulls at a time, 1 to 64; the others wait. Default 2. */
  readonly atOnce: number
  /** From the first request until the image is there, ms: 1000 to 86,400,000. Default 1,800,000. */
  readonly timeMs: number
}

const MiB = 1024 * 1024

/** In MiB, pulls and seconds. */
export const pullRanges = {
  maxMb: { fallback: 20_480, min: 1, max: 1_048_576 },
  atOnce: { fallback: 2, min: 1, max: 64 },
  seconds: { fallback: 1_800, min: 1, max: 86_400 },
} as const

export const pullLimitsFrom = (env: Environment): PullLimits => ({
  maxBytes: integerOf(env, 'HUTCH_IMAGE_MAX_MB', pullRanges.maxMb) * MiB,
  atOnce: integerOf(env, 'HUTCH_IMAGE_PULLS', pullRanges.atOnce),
  timeMs: integerOf(env, 'HUTCH_IMAGE_PULL_SECONDS', pullRanges.seconds) * 1000,
})
