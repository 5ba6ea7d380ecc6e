/** Images as a workspace sees them, in the API's form: those of this host, those it has pulled, and those it is given. */
import type { Images } from '../images/images.ts'
import type { Pulled } from '../images/pulled.ts'
import type { Pull } from '../images/pull/pulls.ts'
import { splitReference as split } from '../images/tags.ts'
import type { Sharable } from '../records/context.ts'
import { sandboxFace } from './sandbox/kind.ts'

export type ListedImages = Pick<Images, 'list' | 'byDigest' | 'shared' | 'offered'> & {
  readonly pulling: Pick<Images['pulling'], 'list' | 'underWay' | 'follow' | 'progress'>
}

interface Part {
  readonly reference: string
  readonly status: 'BUILT' | 'BUILDING' | 'FAILED'
  readonly pulled?: Pulled
  readonly labels?: Readonly<Record<string, string>>
  readonly pull?: Pull
  /** Whose it is, where another workspace shares it. */
  readonly source?: string
}

const iso = (at: number): string => new Date(at).toISOString()

const events = (parts: readonly Part[]) =>
  parts.flatMap(({ reference, status, pull }) =>
    pull
      ? [
          {
            time: iso(pull.since),
            type: 'pull',
            status,
            message: pull.error?.message ?? `${reference}: ${pull.progress.step}`,
          },
        ]
      : [],
  )

/** The API's form of one image, from its tags. */
const imageOf = (name: string, parts: readonly Part[], workspace: string) => {
  const times = parts.flatMap(({ pulled }) => (pulled ? [pulled.pulledAt] : []))
  const sizes = parts.flatMap(({ pulled }) => (pulled ? [pulled.size] : []))
  const status =
    (['BUILT', 'BUILDING', 'FAILED'] as const).find(one => parts.some(part => part.status === one)) ?? 'BUILT'
  const said = events(parts)
  const source = parts.find(part => part.source !== undefined)?.source
  return {
    metadata: {
      name,
      displayName: name,
      resourceType: sandboxFace.kind,
      workspace,
      status,
      ...(source === undefined ? {} : { sourceWorkspace: source }),
      ...(times.length > 0 ? { createdAt: iso(Math.min(...times)), updatedAt: iso(Math.max(...times)) } : {}),
      ...(said.length > 0 ? { events: said } : {}),
    },
    spec: {
      ...(sizes.length > 0 ? { size: sizes.reduce((sum, size) => sum + size, 0) } : {}),
      tags: parts.map(({ reference, pulled, labels }) => ({
        name: split(reference)[1],
        ...(pulled ? { createdAt: iso(pulled.pulledAt), size: pulled.size, digest: `sha256:${pulled.digest}` } : {}),
        ...(labels && Object.keys(labels).length > 0 ? { labels } : {}),
      })),
    },
  }
}

export type ListedImage = ReturnType<typeof imageOf>

interface Listing {
  readonly images: ListedImages
}

const partsOf = async ({ images }: Listing, workspace: string): Promise<Part[]> => {
  const here: Part[] = (await images.list()).map(({ name, labels }) => ({ reference: name, status: 'BUILT', labels }))
  const pulled: Part[] = await Promise.all(
    (await images.pulling.list(workspace)).map(async one => ({
      reference: one.reference,
      status: 'BUILT' as const,
      pulled: one,
      labels: (await images.byDigest(one.digest))?.labels ?? {},
    })),
  )
  const given: Part[] = await Promise.all(
    (await images.shared(workspace)).map(async ({ source, pulled: one }) => ({
      reference: one.reference,
      status: 'BUILT' as const,
      pulled: one,
      labels: (await images.byDigest(one.digest))?.labels ?? {},
      source,
    })),
  )
  const there = new Set([...pulled, ...given].map(({ reference }) => reference))
  const underWay: Part[] = images.pulling
    .underWay(workspace)
    .filter(({ reference }) => !there.has(reference))
    .map(pull => ({ reference: pull.reference, status: pull.error ? 'FAILED' : 'BUILDING', pull }))
  return [...here, ...pulled, ...given, ...underWay]
}

export const listed = async (deps: Listing, workspace: string) => {
  const byName = Map.groupBy(await partsOf(deps, workspace), ({ reference }) => split(reference)[0])
  return [...byName].map(([name, parts]) => imageOf(name, parts, workspace))
}

export const countImages = async (images: ListedImages, workspace: string): Promise<number> =>
  (await listed({ images }, workspace)).length

const isType = (type: string): boolean => ['_', sandboxFace.kind].includes(type)

/** The image of that name as answered to a workspace; `_` stands for any type. Undefined when there is none. */
export const imageNamed = async (
  images: ListedImages,
  workspace: string,
  [type, name]: readonly [type: string, name: string],
) => (isType(type) ? (await listed({ images }, workspace)).find(({ metadata }) => metadata.name === name) : undefined)

/** What shares of images ask of the store. */
export const sharableImages = (images: ListedImages, forget: Images['pulling']['remove']): Sharable => ({
  named: (workspace, named) => imageNamed(images, workspace, named),
  async pulled(workspace, imageName) {
    const references = (await images.pulling.list(workspace)).map(({ reference }) => reference)
    return references.filter(reference => split(reference)[0] === imageName)
  },
  forget,
})
