/** How many machines are made ahead of need, by image: `base=4,node=2`, or `*=4` for any. */
import { integerOf, listOf, refuse, type Environment } from './values.ts'

/** Machines of one image, and of what was asked for lately, at most. */
const most = 1_000

/** Throws `invalid_argument` that names the variable. */
export const warmFrom = (env: Environment): Readonly<Record<string, number>> => {
  const sizes = new Map<string, number>()
  for (const word of listOf(env, 'HUTCH_WARM')) {
    const cut = word.lastIndexOf('=')
    const [image, count] = [word.slice(0, cut).trim(), word.slice(cut + 1).trim()]
    if (cut < 1 || !image || !/^\d{1,4}$/.test(count) || Number(count) > most)
      throw refuse(
        'HUTCH_WARM',
        `"${word}" must be an image and a number up to ${most}, like base=4, or *=4 for any image`,
      )
    if (sizes.has(image)) throw refuse('HUTCH_WARM', `"${image}" is there twice`)
    sizes.set(image, Number(count))
  }
  return Object.fromEntries(sizes)
}

export const warmDemandFrom = (env: Environment): number =>
  integerOf(env, 'HUTCH_WARM_DEMAND', { fallback: 0, min: 0, max: most })
