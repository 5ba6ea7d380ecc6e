/** Manifests of registries, those of Docker and those of OCI, which say the same in other words. */
import { fail, messageOf } from '../../../../shared/errors.ts'
import { parse, s, type Out } from '../../../../shared/schema.ts'

const types = {
  index: ['application/vnd.oci.image.index.v1+json', 'application/vnd.docker.distribution.manifest.list.v2+json'],
  manifest: ['application/vnd.oci.image.manifest.v1+json', 'application/vnd.docker.distribution.manifest.v2+json'],
} as const

/** What a registry is asked for. */
export const acceptedTypes = [...types.manifest, ...types.index].join(', ')

const mostLayers = 128

const digest = s.string().check(s.regex(/^sha256:[0-9a-f]{64}$/, 'must be a sha256 digest'))
const descriptor = s.looseObject({ mediaType: s.optional(s.string()), digest, size: s.int().check(s.gte(0)) })

const index = s.looseObject({
  manifests: s
    .array(
      s.looseObject({
        digest,
        platform: s.optional(
          s.looseObject({ os: s.string(), architecture: s.string(), variant: s.optional(s.string()) }),
        ),
      }),
    )
    .check(s.maxLength(1_000)),
})
const manifest = s.looseObject({ config: descriptor, layers: s.array(descriptor).check(s.maxLength(mostLayers)) })

export type Descriptor = Out<typeof descriptor>
export type Manifest = Out<typeof manifest>

/** Throws `unprocessable` naming what it is that cannot be read. */
export const readJson = <T>(text: string, what: string, read: (value: unknown) => T): T => {
  try {
    return read(JSON.parse(text))
  } catch (error) {
    throw fail('unprocessable', { reason: `${what} cannot be read: ${messageOf(error)}` }, error)
  }
}

/** Names as in Go, which registries speak. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

const forThisMachine = (value: unknown): string => {
  const architecture = architectures[process.arch] ?? process.arch
  const { manifests } = parse(index, value, 'config')
  const found = manifests.find(({ platform }) => platform?.os === 'linux' && platform.architecture === architecture)
  if (found) return found.digest
  throw fail('unprocessable', { reason: `it has no image for linux/${architecture}` })
}

/** A manifest, or the digest of the one in an index that is for this machine. Throws `unprocessable`. */
export const readManifest = (text: string, mediaType: string): Manifest | string =>
  readJson(text, 'its manifest', value => {
    const type = mediaType || (value as { mediaType?: string }).mediaType || types.manifest[0]
    if ((types.index as readonly string[]).includes(type)) return forThisMachine(value)
    if (!(types.manifest as readonly string[]).includes(type)) throw new Error(`${type} is not supported`)
    return parse(manifest, value, 'config')
  })

export const configType = 'application/vnd.oci.image.config.v1+json'
/** A layer as it is unpacked: not compressed. */
export const layerType = 'application/vnd.oci.image.layer.v1.tar'
export const manifestType = types.manifest[0]
