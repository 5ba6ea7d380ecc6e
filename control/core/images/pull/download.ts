/** From a manifest to an OCI layout on disk, of layers that are not compressed. */
import { createHash } from 'node:crypto'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../../../shared/errors.ts'
import { parse, s } from '../../../../shared/schema.ts'
import { semaphore } from '../../../../shared/sync.ts'
import { fetchLayer, type LayerWork } from './layer.ts'
import { configType, layerType, manifestType, readJson, type Manifest } from './manifest.ts'
import type { Repository } from './registry.ts'

const maxConfig = 4 * 1024 * 1024
const layersAtOnce = 3

const digests = s.looseObject({
  rootfs: s.looseObject({ diff_ids: s.array(s.string().check(s.regex(/^sha256:[0-9a-f]{64}$/))) }),
})

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** The configuration as it came: its digest is checked. */
const fetchConfig = async ({ config }: Manifest, repository: Repository, signal: AbortSignal): Promise<Buffer> => {
  if (config.size > maxConfig)
    throw fail('unprocessable', { reason: `its configuration is larger than ${maxConfig} bytes` })
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of (await repository.blob(config.digest, signal)) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > config.size) break
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  if (`sha256:${sha256(bytes)}` === config.digest) return bytes
  throw fail('unprocessable', { reason: 'its configuration is not what the manifest says' })
}

export interface Download extends LayerWork {
  readonly manifest: Manifest
  /** Directory that is made. */
  readonly layout: string
  readonly onLayer: () => void
}

/** The image is in the layout under the name `image`. Throws `unprocessable` for what is wrong with it. */
export const downloadImage = async (download: Download): Promise<void> => {
  const { manifest, layout, repository, signal, onLayer } = download
  const blobs = join(layout, 'blobs', 'sha256')
  const blob = (digest: string) => join(blobs, digest.slice('sha256:'.length))
  await mkdir(blobs, { recursive: true, mode: 0o700 })
  const config = await fetchConfig(manifest, repository, signal)
  const { diff_ids: ids } = readJson(config.toString('utf8'), 'its configuration', value =>
    parse(digests, value, 'config'),
  ).rootfs
  if (ids.length !== manifest.layers.length)
    throw fail('unprocessable', { reason: 'its manifest and its configuration disagree about the layers' })

  const stop = new AbortController()
  const limited = semaphore(layersAtOnce)
  const work = { ...download, signal: AbortSignal.any([signal, stop.signal]) }
  const layers = await Promise.all(
    manifest.layers.map((layer, at) =>
      limited(async () => {
        const digest = ids[at] as string
        // The same layer twice has one file: the unpacker checks each by its digest.
        if (ids.indexOf(digest) === at) await fetchLayer(layer, blob(digest), work)
        onLayer()
        return digest
      }),
    ),
  ).catch(error => {
    stop.abort(error)
    throw error
  })

  const described = layers.map(async digest => ({
    mediaType: layerType,
    digest,
    size: (await stat(blob(digest))).size,
  }))
  const plain = JSON.stringify({
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: configType, digest: manifest.config.digest, size: config.length },
    layers: await Promise.all(described),
  })
  const reference = { mediaType: manifestType, digest: `sha256:${sha256(plain)}`, size: Buffer.byteLength(plain) }
  const annotations = { 'org.opencontainers.image.ref.name': 'image' }
  await writeFile(blob(manifest.config.digest), config)
  await writeFile(blob(reference.digest), plain)
  await writeFile(
    join(layout, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...reference, annotations }] }),
  )
  await writeFile(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
}
