/** What a daemon that waits to be somebody's does while nobody waits for it. */
import type { Bound } from '../../shared/route.ts'

/** Routes that are asked soon after a claim, and the claim itself. */
const early: ReadonlySet<string> = new Set(['host.claim', 'process.start', 'process.get', 'filesystem.write'])

/** Makes the shapes that are made with the first request otherwise, and loads the library that makes them. */
export const practise = (bounds: readonly Bound[]): void => {
  for (const { route } of bounds)
    if (early.has(route.id)) for (const shape of [route.params, route.query, route.body]) shape.safeParse({})
}
