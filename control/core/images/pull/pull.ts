/** One pull: from a reference to a tree under its digest. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import type { Clock } from '../../../../shared/clock.ts'
import { fail, isError, messageOf } from '../../../../shared/errors.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Proxies, PullLimits, RegistryRule } from '../../../base/config.ts'
import { watchDisk } from '../disk.ts'
import { removeWork } from '../layout.ts'
import type { Remote } from '../reference.ts'
import { stepsOf } from '../step.ts'
import { unpackImage } from '../unpack.ts'
import { downloadImage } from './download.ts'
import { createHttp } from './http.ts'
import { openRepository, type Login } from './registry.ts'
import { mostEntries } from './scan.ts'

export interface Progress {
  /** `waiting` for its turn, then in this order. */
  readonly step: 'waiting' | 'manifest' | 'layers' | 'unpack' | 'done' | 'failed'
  /** `sha256:…`, from the second step on. */
  readonly digest?: string
  readonly layers: { readonly done: number; readonly total: number }
  /** As they are stored in the registry. */
  readonly bytes: { readonly done: number; readonly total: number }
  readonly error?: string
}

export interface PullConfig {
  /** The data directory's images. */
  readonly own: string
  readonly registries: readonly RegistryRule[]
  readonly proxies: Proxies
  readonly limits: PullLimits
  /** PEM of authorities beside the system's, or ''. */
  readonly authorities: string
}

export interface PullDeps {
  readonly clock: Clock
  readonly ids: Ids
}

export interface PullRequest {
  readonly remote: Remote
  readonly login: Login | undefined
  /** Whether the tree is there and came from that very repository: then nothing is downloaded. */
  have(digest: string): Promise<boolean>
  /** Takes the finished tree in. */
  publish(tree: string, digest: string): Promise<void>
  onProgress(change: Partial<Progress>): void
  readonly signal: AbortSignal
}

const toRefusal = (error: unknown, { name }: Remote): unknown => {
  if (isError(error, 'unprocessable') || isError(error, 'forbidden') || isError(error, 'invalid_argument'))
    return fail('image_refused', { image: name, reason: error.message }, error)
  if (isError(error, 'image_failed') && error.details?.step === 'unpack')
    return fail('image_refused', { image: name, reason: `it cannot be unpacked: ${error.details.reason}` }, error)
  if (isError(error, 'image_failed')) return error
  return fail('image_failed', { image: name, step: 'pull', reason: messageOf(error) }, error)
}

/**
 * Resolves with the image's digest in hex and the bytes that it unpacks to (0 when it was there). Throws `image_refused` for what
 * another try does not change, else `image_failed`; nothing is left of it then.
 */
export const pullImage = async (
  config: PullConfig,
  request: PullRequest,
  deps: PullDeps,
): Promise<{ digest: string; size: number }> => {
  const { own, registries, proxies, limits, authorities } = config
  const { remote, login, have, publish, onProgress } = request
  const disk = watchDisk(own, deps.clock)
  const signal = AbortSignal.any([request.signal, disk.signal])
  const ca = [...new Set([...getCACertificates('default'), ...getCACertificates('system')])]
  const http = createHttp({ registries, proxies, authorities: authorities ? [...ca, authorities] : ca })
  const work = join(own, `.new-${deps.ids.short(12)}`)
  try {
    onProgress({ step: 'manifest' })
    const repository = openRepository(remote, { http, registries, login })
    const { manifest, digest: full } = await repository.manifest(signal)
    const digest = full.slice('sha256:'.length)
    const { layers } = manifest
    const total = layers.reduce((sum, { size }) => sum + size, 0)
    onProgress({ step: 'layers', digest: full, layers: { done: 0, total: layers.length }, bytes: { done: 0, total } })
    if (await have(digest)) return { digest, size: 0 }
    if (total > limits.maxBytes)
      throw fail('unprocessable', { reason: 'its layers are larger than HUTCH_IMAGE_MAX_MB allows' })
    await mkdir(work, { mode: 0o755 })
    const budget = { bytes: limits.maxBytes, entries: mostEntries }
    let bytes = 0
    let done = 0
    await downloadImage({
      manifest,
      repository,
      budget,
      signal,
      layout: join(work, 'layout'),
      onBytes: count => onProgress({ bytes: { done: (bytes += count), total } }),
      onLayer: () => onProgress({ layers: { done: (done += 1), total: layers.length } }),
    })
    onProgress({ step: 'unpack' })
    const run = stepsOf(remote.name)
    await unpackImage({ work, maxBytes: limits.maxBytes, run, signal })
    await publish(join(work, 'tree'), digest)
    return { digest, size: limits.maxBytes - budget.bytes }
  } catch (error) {
    request.signal.throwIfAborted()
    throw toRefusal(disk.signal.aborted ? disk.signal.reason : error, remote)
  } finally {
    await http.close()
    disk.stop()
    await removeWork(work)
  }
}
