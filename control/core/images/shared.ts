/**
 * What a workspace may use of another's: a share names an image of its source, and opens whatever tags the source has pulled of it, now
 * and later. Nothing is copied: when the share or the source's own image ends, so does this.
 */
import type { Pulled } from './pulled.ts'
import type { Pulling } from './pulling.ts'
import type { Remote } from './reference.ts'
import { splitReference } from './tags.ts'

/** An image that another workspace shares. */
export interface GivenImage {
  readonly imageName: string
  readonly source: string
}

export interface ImageShares {
  /** What a workspace was given and, where that needs a yes, has accepted; the newest first. */
  given(workspace: string): Promise<readonly GivenImage[]>
  /** Names of images that a workspace shares, or has offered. */
  offered(workspace: string): Promise<ReadonlySet<string>>
}

export const noShares: ImageShares = { given: async () => [], offered: async () => new Set() }

/** An image of another workspace, as that one has pulled it. */
export interface SharedImage {
  readonly source: string
  readonly pulled: Pulled
}

interface Deps {
  readonly pulling: Pick<Pulling, 'list' | 'has'>
  readonly shares: ImageShares
}

/** What others share with a workspace and have, but for references that it has pulled itself. */
export const sharedWith = async ({ pulling, shares }: Deps, workspace: string): Promise<SharedImage[]> => {
  const known = new Set((await pulling.list(workspace)).map(({ reference }) => reference))
  const found: SharedImage[] = []
  for (const { source, imageName } of await shares.given(workspace))
    for (const pulled of await pulling.list(source)) {
      if (known.has(pulled.reference) || splitReference(pulled.reference)[0] !== imageName) continue
      known.add(pulled.reference)
      found.push({ source, pulled })
    }
  return found
}

/** The workspace as which an image is asked for: itself, unless only another one has it and shares it. */
export const holderOf = async ({ pulling, shares }: Deps, { name }: Remote, workspace: string): Promise<string> => {
  if (await pulling.has(workspace, name)) return workspace
  const [imageName] = splitReference(name)
  for (const one of await shares.given(workspace))
    if (one.imageName === imageName && (await pulling.has(one.source, name))) return one.source
  return workspace
}
