/**
 * What clients call an image: `base`, `svc/base-image:latest`, `registry.example/team/app:1.2`.
 * Inside, an image has one key: its name without a wire prefix, and its tag unless that is `latest`.
 */
import type { WireName } from '../config.ts'

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
