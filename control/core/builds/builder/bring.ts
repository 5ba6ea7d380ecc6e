/**
 * Brings a built image out of its builder. What runs there is a stranger's and may have written anything: it is read as a
 * registry is, every part bounded and held against its digest, and unpacked in the jail that images of registries are unpacked in.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { fail } from '../../../../shared/errors.ts'
import { parse, s } from '../../../../shared/schema.ts'
import { configType, layerType, readJson } from '../../images/pull/manifest.ts'
import type { Repository } from '../../images/pull/registry.ts'
import type { Machine } from './machine.ts'

const mostText = 4 * 1024 * 1024

/** What `buildah inspect` says of an image. */
const shape = s.looseObject({
  OCIv1: s.looseObject({ architecture: s.string(), os: s.string(), config: s.optional(s.looseObject({})) }),
})
const digestPattern = /^[0-9a-f]{64}$/

const textOf = (machine: Machine, path: string): Promise<string> =>
  machine.read(path, async bytes => {
    const pieces: Buffer[] = []
    let length = 0
    for await (const piece of bytes) {
      length += piece.length
      if (length > mostText)
        throw fail('unprocessable', { reason: `a description of the image is larger than ${mostText} bytes` })
      pieces.push(piece)
    }
    return Buffer.concat(pieces).toString('utf8')
  })

/** A stream of a file whose call ends when it has been read. */
const streamOf = (machine: Machine, path: string): Readable => {
  const pieces = async function* () {
    const handed = Promise.withResolvers<AsyncIterable<Buffer>>()
    const over = Promise.withResolvers<void>()
    const call = machine.read(path, async bytes => {
      handed.resolve(bytes)
      await over.promise
    })
    call.catch(handed.reject)
    try {
      yield* await handed.promise
    } finally {
      over.resolve()
    }
    await call
  }
  return Readable.from(pieces(), { objectMode: false })
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** What a build has written to `path` (`script.ts`), as a repository with one image of one layer. */
export const repositoryIn = (machine: Machine, path: string, maxBytes: number): Repository => {
  let config = ''
  return {
    async manifest() {
      const { OCIv1: said } = readJson(await textOf(machine, `${path}/config.json`), 'its configuration', value =>
        parse(shape, value, 'config'),
      )
      const digest = (await textOf(machine, `${path}/digest`)).trim()
      if (!digestPattern.test(digest)) throw fail('unprocessable', { reason: 'the build made no image' })
      const layer = { mediaType: layerType, digest: `sha256:${digest}`, size: maxBytes }
      const { architecture, os, config: settings } = said
      config = JSON.stringify({
        architecture,
        os,
        config: settings,
        rootfs: { type: 'layers', diff_ids: [layer.digest] },
      })
      const described = { mediaType: configType, digest: `sha256:${sha256(config)}`, size: Buffer.byteLength(config) }
      const manifest = { config: described, layers: [layer] }
      return { manifest, digest: `sha256:${sha256(JSON.stringify([described.digest, layer.digest]))}` }
    },
    blob: async digest =>
      digest === `sha256:${sha256(config)}`
        ? Readable.from([Buffer.from(config)])
        : streamOf(machine, `${path}/layer.tar`),
  }
}
