/** What registries serve: which addresses lead to what never changes. Anything else is asked for again when it is stale. */

export type PackageKind = 'npm' | 'pypi' | 'debian' | 'go'

export interface PackageHost {
  readonly kind: PackageKind
  readonly host: string
}

/**
 * The name has the version or the digest in it, and the registries refuse a second file of that name: npm's tarballs, distributions of
 * Python (PEP 427, PEP 625, PEP 658), Debian's pool and by-hash, versions of the GOPROXY protocol.
 */
const immutable: Readonly<Record<PackageKind, RegExp>> = {
  npm: /\/-\/[^/]+\.tgz$/,
  pypi: /\.(?:whl|whl\.metadata|tar\.gz|tar\.bz2|zip|egg)$/,
  debian: /\/pool\/.+\.(?:deb|udeb|dsc|tar\.[a-z0-9]+)$|\/by-hash\/SHA256\/[0-9a-f]{64}$/,
  go: /\/@v\/v\d+\.\d+\.\d+[^/]*\.(?:info|mod|zip)$/,
}

export const isImmutable = (kind: PackageKind, path: string): boolean => immutable[kind].test(path)

/** A digest that somebody has said a file has, hexadecimal. */
export interface Promised {
  readonly algorithm: 'sha256' | 'sha512'
  readonly value: string
}

/** The one that is in the address itself. */
export const promisedByPath = (kind: PackageKind, path: string): Promised | undefined => {
  const value = kind === 'debian' ? /\/by-hash\/SHA256\/([0-9a-f]{64})$/.exec(path)?.[1] : undefined
  return value === undefined ? undefined : { algorithm: 'sha256', value }
}
