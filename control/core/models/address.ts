/** Where at its provider a request to a model goes. */
import { fail } from '../../../shared/errors.ts'
import type { Dialect } from './dialects/dialect.ts'
import { unknown } from './dialects/openai.ts'
import type { Provider, Values } from './providers/provider.ts'

const placeholder = /\{\{(\w+)\}\}/g

/** Names of the values that a template asks for. */
export const namesIn = (template: string): string[] =>
  [...template.matchAll(placeholder)].map(([, name]) => name as string)

/** The template with its values; undefined when one is missing. */
export const filled = (
  template: string,
  values: Values,
  encode: (value: string, name: string) => string = value => value,
): string | undefined => {
  const names = namesIn(template)
  if (names.some(name => !values[name])) return undefined
  return template.replaceAll(placeholder, (_, name: string) => encode(values[name] as string, name))
}

const refuse = (field: string, reason: string) => fail('invalid_argument', { field, reason })

/** A value as part of an address: nothing in it leads elsewhere. A model may have slashes, a host may not. */
const part = (value: string, name: string): string => {
  if (!/^[\w.:@/-]+$/.test(value) || value.split('/').some(word => ['.', '..', ''].includes(word)))
    throw refuse(name, 'has characters that have no place in an address')
  if (value.includes('/') && name !== 'model') throw refuse(name, 'must not have a slash')
  return value
}

const parsedBase = (given: string): URL => {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash)
    throw refuse('spec.config.baseUrl', 'must be an http or https address without user, query and fragment')
  return url
}

const withoutSlash = (path: string): string => path.replace(/\/+$/, '')

/** The version that a path ends with, of those that its provider has. */
const versionAtEnd = (path: string, versions: readonly string[]): string | undefined =>
  versions.find(version => path.endsWith(version))

/** Base address of a provider for these values, without a slash at its end. Throws `invalid_argument` naming what is missing. */
export const baseOf = ({ base: template, version, versions }: Provider, values: Values): URL => {
  const usual = template === undefined ? undefined : filled(template, values, part)
  const given = values['baseUrl']
  if (!given && usual === undefined) {
    const missing = template === undefined ? 'baseUrl' : namesIn(template).find(name => !values[name])
    throw refuse(`spec.config.${missing}`, 'is missing')
  }
  const url = parsedBase(given || (usual as string))
  url.pathname = withoutSlash(url.pathname)
  // An address without a path has the usual one.
  if (given && url.pathname === '/' && usual !== undefined) url.pathname = new URL(usual).pathname
  if (version && !versionAtEnd(url.pathname, versions)) url.pathname = `${withoutSlash(url.pathname)}${version}`
  return url
}

const startsWithSegment = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`)

const withoutPrefixes = (path: string, prefixes: Provider['prefixes'] = []): string => {
  for (const prefix of prefixes)
    if (typeof prefix === 'string') {
      if (startsWithSegment(path, prefix)) return path.slice(prefix.length)
    } else if (prefix.test(path)) return path.replace(prefix, '')
  return path
}

export interface Place {
  /** Path and query as they are sent. */
  readonly path: string
  /** The path below the version. */
  readonly below: string
  readonly dialect: Dialect
}

/** `/models/{model}:generateContent` as an expression. */
const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.+()[\]]/g, String.raw`\$&`).replaceAll('{model}', '[^:?]+')}$`)

const patterns = new WeakMap<Provider, readonly (readonly [RegExp, Dialect])[]>()

const dialectOf = (provider: Provider, below: string): Dialect => {
  let known = patterns.get(provider)
  if (!known) {
    known = Object.entries(provider.endpoints).map(([path, dialect]) => [patternOf(path), dialect] as const)
    patterns.set(provider, known)
  }
  return known.find(([pattern]) => pattern.test(below))?.[1] ?? unknown
}

/** Members of the query that belong to whoever calls this host, and never to a provider. */
const callersOwn: ReadonlySet<string> = new Set(['key', 'access_token', 'token', 'workspace', 'environment'])

const queryOf = (query: string, params: Provider['params'], values: Values): string => {
  const kept = query.split('&').filter(one => one && !callersOwn.has(decodeName(one.split('=', 1)[0] as string)))
  const has = new Set(kept.map(one => decodeName(one.split('=', 1)[0] as string)))
  for (const [name, template] of Object.entries(params ?? {})) {
    const value = filled(template, values, encodeURIComponent)
    if (!has.has(name) && value !== undefined) kept.push(`${name}=${value}`)
  }
  return kept.length > 0 ? `?${kept.join('&')}` : ''
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

const leadsUp = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)|\\|%5c/i

/** `target` is path and query below the model's own address. Throws `invalid_argument` for a path that leads upwards. */
export const placeOf = (provider: Provider, base: URL, target: string, values: Values): Place => {
  const [given = '/', ...query] = target.split('?')
  if (leadsUp.test(given)) throw refuse('path', 'must not lead upwards')
  const whole = given === '/' ? '' : given
  const { versions } = provider
  const rest = withoutPrefixes(whole, provider.prefixes)
  const version = versions.find(one => startsWithSegment(rest, one))
  const below = version ? rest.slice(version.length) : rest
  const basePath = withoutSlash(base.pathname)
  const ownVersion = versionAtEnd(basePath, versions)
  // A client that names a version means that one, where the base has another one of the provider's.
  const at = version && ownVersion ? `${basePath.slice(0, -ownVersion.length)}${version}` : basePath
  const path = `${at}${below}` || '/'
  return {
    path: `${path}${queryOf(query.join('?'), provider.params, values)}`,
    below,
    dialect: dialectOf(provider, below),
  }
}
