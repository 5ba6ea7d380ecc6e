/** A registry that serves whatever a test makes up: manifests, layers, redirects. Plain HTTP, on loopback. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { pack, type Header } from 'tar-stream'
import type { Teardowns } from './server.ts'

export type Entry = Partial<Header> & { readonly name: string; readonly content?: string }

export const sha256 = (bytes: Buffer | string): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** A layer of these entries. */
export const tar = async (entries: readonly Entry[]): Promise<Buffer> => {
  const archive = pack()
  for (const { content = '', ...header } of entries) archive.entry(header, content)
  archive.finalize()
  return buffer(archive)
}

/** How a layer is sent, and what its media type says. */
const compressions = {
  gzip: {
    type: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
    pack: (tar: Buffer) => gzipSync(tar, { level: 1 }),
  },
  zstd: { type: 'application/vnd.oci.image.layer.v1.tar+zstd', pack: (tar: Buffer) => zstdCompressSync(tar) },
  none: { type: 'application/vnd.oci.image.layer.v1.tar', pack: (tar: Buffer) => tar },
} as const

export interface Served {
  manifest: {
    mediaType: string
    config: object
    layers: { mediaType: string; digest: string; size: number; urls?: string[] }[]
  }
  config: { config: object; rootfs: { type: string; diff_ids: string[] } }
  /** As they are sent. */
  blobs: Buffer[]
}

type Respond = (message: IncomingMessage, response: ServerResponse) => void

export interface HostileRegistry {
  readonly host: string
  readonly port: number
  readonly asked: { readonly url: string; readonly authorization: string | undefined }[]
  /** Answers a path in its own way. */
  readonly answers: Map<string, Respond>
  /** Serves an image of these layers as tag 1 of that repository, with lies that `change` makes. */
  serve(repository: string, layers: readonly Buffer[], change?: (image: Served) => void): void
}

/** An image of these layers, compressed by gzip, zstd and not at all, in turns. */
const imageOf = (layers: readonly Buffer[]): Served => {
  const ways = Object.values(compressions)
  const blobs = layers.map((layer, at) => (ways[at % ways.length] as (typeof ways)[number]).pack(layer))
  return {
    blobs,
    config: { config: {}, rootfs: { type: 'layers', diff_ids: layers.map(sha256) } },
    manifest: {
      mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
      config: {},
      layers: blobs.map((blob, at) => ({
        mediaType: (ways[at % ways.length] as (typeof ways)[number]).type,
        digest: sha256(blob),
        size: blob.length,
      })),
    },
  }
}

export const hostileRegistry = async (t: Teardowns): Promise<HostileRegistry> => {
  const asked: HostileRegistry['asked'] = []
  const answers = new Map<string, Respond>()
  const file =
    (bytes: Buffer, type = 'application/octet-stream'): Respond =>
    (_message, response) =>
      void response.writeHead(200, { 'content-type': type, 'content-length': bytes.length }).end(bytes)
  const server = createServer((message, response) => {
    const url = message.url ?? ''
    asked.push({ url, authorization: message.headers.authorization })
    const answer = answers.get(url.replace(/\?.*$/s, ''))
    if (answer) answer(message, response)
    else response.writeHead(404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    host: `localhost:${port}`,
    port,
    asked,
    answers,
    serve(repository, layers, change) {
      const image = imageOf(layers)
      change?.(image)
      const { manifest, blobs } = image
      const config = Buffer.from(JSON.stringify(image.config))
      manifest.config = { mediaType: 'x', digest: sha256(config), size: config.length }
      answers.set(`/v2/${repository}/blobs/${sha256(config)}`, file(config))
      for (const [at, { digest }] of manifest.layers.entries())
        answers.set(`/v2/${repository}/blobs/${digest}`, file(blobs[at] as Buffer))
      const text = Buffer.from(JSON.stringify(manifest))
      for (const name of ['1', sha256(text)])
        answers.set(`/v2/${repository}/manifests/${name}`, file(text, manifest.mediaType))
    },
  }
}
