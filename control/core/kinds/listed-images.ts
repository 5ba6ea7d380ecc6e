/** Images as a workspace sees them, in the API's form: those of the host, pulled, shared, built, and those that are being made. */
import type { Images } from '../images/images.ts'
import type { Pulled } from '../images/pulled.ts'
import type { Pull } from '../images/pull/pulls.ts'
import { splitReference as split } from '../images/tags.ts'
import type { Sharable } from '../records/context.ts'
import type { Resource } from '../store/store.ts'
import { sandboxFace } from './sandbox/kind.ts'

export type ListedImages = Pick<Images, 'list' | 'byDigest' | 'shared' | 'offered' | 'built'> & {
  readonly pulling: Pick<Images['pulling'], 'list' | 'underWay' | 'follow' | 'progress'>
}

type Status = 'BUILT' | 'UPLOADING' | 'BUILDING' | 'FAILED'

interface Part {
  readonly reference: string
  readonly status: Status
  /** Whose images they are; those that sandboxes are made from unless given. */
  readonly type?: string
  /** When and what, of one that the workspace has pulled or built. */
  readonly pulled?: Pick<Pulled, 'pulledAt' | 'size' | 'digest'>
  /** An image that is made by itself: no tag, but what becomes of it. */
  readonly record?: Resource
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

const typeOf = (part: Pick<Part, 'type'> | undefined): string => part?.type ?? sandboxFace.kind

/** The API's form of one image, from its tags. */
const imageOf = (name: string, parts: readonly Part[], workspace: string) => {
  const times = parts.flatMap(({ pulled }) => (pulled ? [pulled.pulledAt] : []))
  const sizes = parts.flatMap(({ pulled }) => (pulled ? [pulled.size] : []))
  // What is made anew says how far it is, whatever there was before.
  const made = parts.find(part => part.record)?.status
  const status =
    made ?? (['BUILT', 'BUILDING', 'FAILED'] as const).find(one => parts.some(part => part.status === one)) ?? 'BUILT'
  const said = events(parts)
  const source = parts.find(part => part.source !== undefined)?.source
  return {
    metadata: {
      name,
      displayName: name,
      resourceType: typeOf(parts[0]),
      workspace,
      status,
      ...(source === undefined ? {} : { sourceWorkspace: source }),
      ...(times.length > 0 ? { createdAt: iso(Math.min(...times)), updatedAt: iso(Math.max(...times)) } : {}),
      ...(said.length > 0 ? { events: said } : {}),
    },
    spec: {
      ...(sizes.length > 0 ? { size: sizes.reduce((sum, size) => sum + size, 0) } : {}),
      tags: parts
        .filter(({ record }) => !record)
        .map(({ reference, pulled, labels }) => ({
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
  /** What images are built by; none where nothing is. */
  readonly builds?: { images(workspace: string): Promise<readonly Resource[]> } | undefined
}

/** What the workspace has built, and images that are made by themselves. */
const builtParts = async ({ images, builds }: Listing, workspace: string): Promise<Part[]> => {
  const typed = (reference: string) => {
    const slash = reference.indexOf('/')
    return { type: reference.slice(0, slash), reference: reference.slice(slash + 1) }
  }
  const tags: Part[] = (await images.built.list(workspace)).map(({ reference, digest, size, builtAt }) => ({
    ...typed(reference),
    status: 'BUILT',
    pulled: { digest, size, pulledAt: builtAt },
  }))
  const records = (await builds?.images(workspace)) ?? []
  const making: Part[] = records.map(record => ({ ...typed(record.name), status: record.status as Status, record }))
  return [...tags, ...making]
}

const partsOf = async (deps: Listing, workspace: string): Promise<Part[]> => {
  const { images } = deps
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
  return [...here, ...pulled, ...given, ...underWay, ...(await builtParts(deps, workspace))]
}

export const listed = async (deps: Listing, workspace: string) => {
  const byName = Map.groupBy(await partsOf(deps, workspace), part => `${typeOf(part)} ${split(part.reference)[0]}`)
  return [...byName.values()].map(parts => imageOf(split(parts[0]?.reference ?? '')[0], parts, workspace))
}

export const countImages = async (images: ListedImages, workspace: string): Promise<number> =>
  (await listed({ images }, workspace)).length

/** The image of that name as answered to a workspace; `_` stands for any type. Undefined when there is none. */
export const imageNamed = async (
  deps: Listing,
  workspace: string,
  [type, name]: readonly [type: string, name: string],
) =>
  (await listed(deps, workspace)).find(
    ({ metadata }) => metadata.name === name && (type === '_' || type === metadata.resourceType),
  )

/** What shares of images ask of the store. */
export const sharableImages = (images: ListedImages, forget: Images['pulling']['remove']): Sharable => ({
  named: (workspace, named) => imageNamed({ images }, workspace, named),
  async pulled(workspace, imageName) {
    const references = (await images.pulling.list(workspace)).map(({ reference }) => reference)
    return references.filter(reference => split(reference)[0] === imageName)
  },
  forget,
})
