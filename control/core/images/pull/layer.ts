/** One layer from a registry to a file, unpacked as far as its compression goes. */
import { createHash, type Hash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { PassThrough, Transform, type Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { errno, fail, isError, messageOf } from '../../../../shared/errors.ts'
import type { Descriptor } from './manifest.ts'
import type { Repository } from './registry.ts'
import { scanLayer, type Budget } from './scan.ts'

export interface LayerWork {
  readonly repository: Repository
  readonly budget: Budget
  /** Told of bytes as they arrive. */
  readonly onBytes: (count: number) => void
  readonly signal: AbortSignal
}

/** What the manifest says of the compression; images of before that was said are compressed by gzip. */
const decompressor = ({ mediaType = '' }: Descriptor): Duplex => {
  if (mediaType.endsWith('zstd')) return createZstdDecompress()
  return mediaType.endsWith('tar') ? new PassThrough() : createGunzip()
}

/** Passes on what arrives, and fails when it is more than was announced. */
const measured = (hash: Hash, { size, digest }: Descriptor, onBytes: (count: number) => void): Transform => {
  let left = size
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length
      if (left < 0)
        return done(
          fail('unprocessable', { reason: `layer ${digest} is larger than the manifest says (${size} bytes)` }),
        )
      hash.update(chunk)
      onBytes(chunk.length)
      return done(null, chunk)
    },
  })
}

/** A decompressor's words become the image's fault; what else ends a pipeline stays what it is. */
const layerFailure = (error: unknown, { digest }: Descriptor): unknown => {
  const code = errno(error) ?? ''
  if (isError(error)) return error
  if (code.startsWith('Z_') || code.startsWith('ZSTD_') || code === 'ERR_ZLIB_INITIALIZATION_FAILED')
    return fail('unprocessable', { reason: `layer ${digest} cannot be decompressed: ${messageOf(error)}` }, error)
  if (code.startsWith('UND_ERR') || ['ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(code))
    return fail('unavailable', { what: `layer ${digest} broke off: ${messageOf(error)}`, next: 'try again' }, error)
  return error
}

/** Writes the tar archive of a layer to `file`. Throws `unprocessable` for what is wrong with it, `unavailable` when it breaks off. */
export const fetchLayer = async (layer: Descriptor, file: string, work: LayerWork): Promise<void> => {
  const { repository, budget, onBytes, signal } = work
  const hash = createHash('sha256')
  try {
    const body = await repository.blob(layer.digest, signal)
    await pipeline(
      body,
      measured(hash, layer, onBytes),
      decompressor(layer),
      scanLayer(budget),
      createWriteStream(file, { flags: 'wx', mode: 0o600 }),
      { signal },
    )
  } catch (error) {
    throw layerFailure(error, layer)
  }
  if (`sha256:${hash.digest('hex')}` !== layer.digest)
    throw fail('unprocessable', { reason: `layer ${layer.digest} is not what the manifest says` })
}
