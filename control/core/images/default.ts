import { isError } from '../../../shared/errors.ts'
import type { Images } from './images.ts'

/** What is there without building anything. */
const smallest = 'busybox'

/** Whether an image is here. */
export const isKnown = (images: Pick<Images, 'resolve'>, reference: string): Promise<boolean> =>
  images.resolve(reference).then(
    () => true,
    error => {
      if (isError(error, 'invalid_image')) return false
      throw error
    },
  )

/**
 * Image of a sandbox that names none: `base`, a reference, or `busybox` until that image is built, which a fresh package
 * does not have. What was chosen stands in the sandbox's record.
 */
export const defaultImage = async (images: Pick<Images, 'resolve'>, base: string): Promise<string> =>
  (await isKnown(images, base)) || !(await isKnown(images, smallest)) ? base : smallest
