/** Digests that registries state for their files: npm's metadata and Python's simple index name them beside each address. */
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import { s, type Out } from '../../../../shared/schema.ts'
import type { PackageKind, Promised } from './kinds.ts'

/** Larger documents are not read: nothing is known of their files then but what the connection vouches for. */
export const maxDocument = 2 * 1024 * 1024
const maxPromises = 100_000

const npmDocument = s.object({
  versions: s.record(
    s.string(),
    s.object({ dist: s.optional(s.object({ tarball: s.string(), integrity: s.optional(s.string()) })) }),
  ),
})
const pypiDocument = s.object({
  files: s.array(s.object({ url: s.string(), hashes: s.optional(s.object({ sha256: s.optional(s.string()) })) })),
})

/** Subresource Integrity: base64 after the algorithm's name. */
const ofIntegrity = (integrity: string | undefined): Promised | undefined => {
  const encoded = /(?:^|\s)sha512-([A-Za-z0-9+/]{86}==)(?:\s|$)/.exec(integrity ?? '')?.[1]
  return encoded === undefined
    ? undefined
    : { algorithm: 'sha512', value: Buffer.from(encoded, 'base64').toString('hex') }
}

const inNpm = ({ versions }: Out<typeof npmDocument>): [string, Promised][] =>
  Object.values(versions).flatMap(({ dist }) => {
    const promised = ofIntegrity(dist?.integrity)
    return dist && promised ? [[dist.tarball, promised] as [string, Promised]] : []
  })

const inPypiJson = ({ files }: Out<typeof pypiDocument>): [string, Promised][] =>
  files.flatMap(({ url, hashes }) =>
    /^[0-9a-f]{64}$/.test(hashes?.sha256 ?? '')
      ? [[url, { algorithm: 'sha256', value: hashes?.sha256 as string }] as [string, Promised]]
      : [],
  )

const inHtml = (text: string): [string, Promised][] =>
  [...text.matchAll(/href="([^"#]{1,2048})#sha256=([0-9a-f]{64})"/g)].map(([, url, value]) => [
    (url as string).replaceAll('&amp;', '&'),
    { algorithm: 'sha256', value: value as string },
  ])

/** Addresses as they are written, which may be relative. What cannot be read promises nothing. */
const readDocument = (kind: PackageKind, text: string): [string, Promised][] => {
  if (kind === 'pypi' && !text.startsWith('{')) return inHtml(text)
  try {
    const document: unknown = JSON.parse(text)
    const npm = kind === 'npm' ? npmDocument.safeParse(document) : undefined
    if (npm?.success) return inNpm(npm.data)
    const pypi = kind === 'pypi' ? pypiDocument.safeParse(document) : undefined
    return pypi?.success ? inPypiJson(pypi.data) : []
  } catch {
    // No JSON: a registry that answers in another form.
    return []
  }
}

const decoders = { gzip: promisify(gunzip), br: promisify(brotliDecompress) } as const

const textOf = async (body: Buffer, encoding: string): Promise<string | undefined> => {
  if (encoding === '' || encoding === 'identity') return body.toString('utf8')
  const decode = encoding === 'gzip' || encoding === 'br' ? decoders[encoding] : undefined
  try {
    return (await decode?.(body, { maxOutputLength: maxDocument }))?.toString('utf8')
  } catch {
    // Broken, or larger than is read.
    return undefined
  }
}

export interface Promises {
  /** Reads a document of the registry. `url` is its own address. */
  learn(kind: PackageKind, url: string, body: Buffer, encoding: string): Promise<void>
  /** What the file at that address is said to be. */
  of(url: string): Promised | undefined
}

/** The oldest are forgotten first. */
export const createPromises = (): Promises => {
  const known = new Map<string, Promised>()
  return {
    of: url => known.get(url),
    async learn(kind, url, body, encoding) {
      if ((kind !== 'npm' && kind !== 'pypi') || body.length > maxDocument) return
      const text = await textOf(body, encoding)
      if (text === undefined) return
      for (const [place, promised] of readDocument(kind, text)) {
        const file = URL.parse(place, url)
        if (!file) continue
        known.delete(file.href)
        known.set(file.href, promised)
      }
      while (known.size > maxPromises) known.delete(known.keys().next().value as string)
    },
  }
}
