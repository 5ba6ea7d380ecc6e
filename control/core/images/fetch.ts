/** From an archive, a layout on disk or a registry that the operator names to a tree: skopeo copies. */
import { join } from 'node:path'
import { fail } from '../../../shared/errors.ts'
import { sourcePattern } from './source.ts'
import { stepsOf } from './step.ts'
import { digestIn, unpackImage } from './unpack.ts'

/** A file of the operator's own: only the disk bounds it. */
const maxBytes = 2 ** 50

export interface Fetch {
  readonly name: string
  readonly source: string
  readonly work: string
  have(digest: string): Promise<boolean>
  /** Told of every step as it begins. */
  readonly onStep?: (step: string) => void
}

/**
 * Makes `work/tree` ({rootfs, image.json}) from `source` and answers the image's digest; makes nothing when
 * `have(digest)` is true. Throws `image_failed` naming the step, `invalid_argument` for a source skopeo does not know.
 */
export const fetchImage = async (request: Fetch, signal?: AbortSignal): Promise<string> => {
  const { name, source, work, have, onStep } = request
  if (!sourcePattern.test(source))
    throw fail('invalid_argument', {
      field: 'source',
      reason: 'must be docker://…, oci:…, oci-archive:… or docker-archive:…',
    })
  const layout = join(work, 'layout')
  const run = stepsOf(name, onStep)
  await run('copy', 'skopeo', ['copy', '--quiet', source, `oci:${layout}:image`], signal)
  const digest = await digestIn(layout)
  if (!digest) throw fail('image_failed', { image: name, step: 'copy', reason: 'the image has no manifest' })
  if (await have(digest)) return digest
  await unpackImage({ work, maxBytes, run, signal })
  return digest
}
