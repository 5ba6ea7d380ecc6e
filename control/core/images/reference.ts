/**
 * What clients call an image: `base`, `svc/base-image:latest`, `registry.example/team/app:1.2`.
 * Inside, an image has one key: its name without a wire prefix, and its tag unless that is `latest`.
 */
import type { WireName } from '../../base/config.ts'

const part = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*'
/** A registry's host and port, then path components, as the distribution specification has them. */
const name = new RegExp(`^(?:${part}:\\d{1,5}/)?${part}(?:/${part})*$`)
const tag = /^\w[\w.-]{0,127}$/
const longest = 255

/** The key of a reference, or undefined when it is none. `aliases` maps a name to the one it stands for. */
export const keyOf = (
  reference: string,
  options: { wireNames: readonly WireName[]; aliases: Readonly<Record<string, string>> },
): string | undefined => {
  const { wireNames, aliases } = options
  if (reference.length > longest) return undefined
  const colon = reference.indexOf(':', reference.lastIndexOf('/') + 1)
  const given = colon < 0 ? reference : reference.slice(0, colon)
  const version = colon < 0 ? 'latest' : reference.slice(colon + 1)
  const prefix = wireNames.map(wire => `${wire.image}/`).find(start => given.startsWith(start))
  const bare = prefix ? given.slice(prefix.length) : given
  if (!name.test(bare) || !tag.test(version)) return undefined
  const known = Object.hasOwn(aliases, bare) ? (aliases[bare] as string) : bare
  return version === 'latest' ? known : `${known}:${version}`
}

/** An image of a registry. */
export interface Remote {
  /** As it is written: `docker.io`, `registry.example:5000`. */
  readonly host: string
  /** `library/python`. */
  readonly repository: string
  /** Undefined where a digest says which one. */
  readonly tag: string | undefined
  /** `sha256:…`. */
  readonly digest: string | undefined
  /** The whole reference, in the one form that it is stored under: `docker.io/library/python:3.12-slim`. */
  readonly name: string
}

/** A dot, a port, or `localhost`: what tells a host from the first part of a name. */
const hostPattern = /^(?=[^/]*[.:]|localhost$)([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::[1-9]\d{0,4})?$/
const repositoryPattern = new RegExp(`^${part}(?:/${part})*$`)
const digestPattern = /^sha256:[0-9a-f]{64}$/

/** Bytes, what is put behind it left out. */
const longestFileName = 230

/** The image of a registry that a reference names, or undefined when it names no host, or is too long to be kept. */
export const remoteOf = (reference: string): Remote | undefined => {
  const slash = reference.indexOf('/')
  const host = reference.slice(0, Math.max(0, slash))
  if (reference.length > longest + 80 || !hostPattern.test(host)) return undefined
  const [path = '', digest, ...more] = reference.slice(slash + 1).split('@')
  const colon = path.indexOf(':')
  const given = colon < 0 ? path : path.slice(0, colon)
  const version = colon < 0 ? undefined : path.slice(colon + 1)
  if (!repositoryPattern.test(given) || more.length > 0) return undefined
  if (version !== undefined && !tag.test(version)) return undefined
  if (digest !== undefined && !digestPattern.test(digest)) return undefined
  // Docker Hub's own images have a first part that nobody writes.
  const isHub = host === 'docker.io' || host === 'index.docker.io'
  const repository = isHub && !given.includes('/') ? `library/${given}` : given
  const registry = isHub ? 'docker.io' : host
  const suffix = digest ? `@${digest}` : `:${version ?? 'latest'}`
  const chosen = digest ? undefined : (version ?? 'latest')
  const name = `${registry}/${repository}${suffix}`
  // It is kept under its name.
  if (Buffer.byteLength(encodeURIComponent(name)) > longestFileName) return undefined
  return { host: registry, repository, tag: chosen, digest, name }
}
