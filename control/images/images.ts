/**
 * The image store: unpacked root file systems by digest, and names for them. It looks in two directories of
 * one layout: the data directory's own (imports), then the one shared by all data directories of this machine
 * (built from the recipes under images/; only read here).
 */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { WireName } from '../config.ts'
import { readIfThere } from '../durable.ts'
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import { keyedMutex } from '../../shared/sync.ts'
import { collectTrees, importImage } from './import.ts'
import { entries, listNames, namePath, readName, readTree, treePath, type ImageConfig } from './layout.ts'
import { keyOf } from './reference.ts'

export interface Image extends ImageConfig {
  /** The key: the reference without wire prefix and `:latest`. */
  readonly name: string
  readonly digest: string
  /** Absolute path of the root file system; mounted read-only, never written. */
  readonly rootfs: string
}

export interface Images {
  /** The image a reference names. Throws `invalid_image` with the supported ones in its details. */
  resolve(reference: string): Promise<Image>
  /** Every image there is, by name. */
  list(): Promise<Image[]>
  /**
   * Brings in an image under `reference` from anything skopeo reads (`docker://…`, `oci:DIR:TAG`, `oci-archive:…`).
   * A name that exists moves to the new tree; sandboxes made from the old one keep it. Throws `image_failed`.
   */
  import(reference: string, source: string, signal?: AbortSignal): Promise<Image>
  /** Forgets a name of the data directory; its tree stays until `collect`. */
  remove(reference: string): Promise<void>
  /** Removes imported trees without a name that are not in `inUse`; answers the digests removed. */
  collect(inUse: ReadonlySet<string>): Promise<string[]>
}

export interface ImagesConfig {
  readonly dataDir: string
  /** Images of this machine, shared by every data directory: `.runtime/images`. */
  readonly imagesDir: string
  readonly wireNames: readonly WireName[]
  /** Further names of images, beside `base-image` for `base`: theirs → ours, without prefix and tag. */
  readonly imageAliases?: Readonly<Record<string, string>>
}

const defaultAliases: Readonly<Record<string, string>> = { 'base-image': 'base' }

export interface ImagesDeps {
  readonly ids: Ids
  readonly log: Log
  readonly clock: Clock
}

interface Context extends ImagesDeps {
  readonly config: ImagesConfig
  readonly aliases: Readonly<Record<string, string>>
  /** The data directory's own images. */
  readonly own: string
}

const load = async (dir: string, name: string): Promise<Image | undefined> => {
  const digest = await readName(dir, name)
  const tree = digest && (await readTree(dir, digest))
  return digest && tree ? { ...tree, name, digest, rootfs: join(treePath(dir, digest), 'rootfs') } : undefined
}

const find = async ({ own, config }: Context, name: string): Promise<Image | undefined> =>
  (await load(own, name)) ?? (await load(config.imagesDir, name))

const names = async ({ own, config }: Context): Promise<string[]> =>
  [...new Set([...(await listNames(own)), ...(await listNames(config.imagesDir))])].sort()

const unknown = async (context: Context, requested: string) => {
  const { config, aliases } = context
  const known = await names(context)
  const short = Object.keys(aliases).filter(alias => known.includes(aliases[alias] as string))
  const supported = config.wireNames.flatMap(wire => short.map(alias => `${wire.image}/${alias}:latest`))
  return fail('invalid_image', { requested, supported: [...supported, ...known] })
}

const keyIn = ({ config, aliases }: Context, reference: string): string | undefined =>
  keyOf(reference, { wireNames: config.wireNames, aliases })

const keyFor = (context: Context, reference: string): string => {
  const key = keyIn(context, reference)
  if (!key)
    throw fail('invalid_argument', {
      field: 'image',
      reason: `"${reference.slice(0, 80)}" is not an image reference`,
    })
  return key
}

const bring = async (context: Context, name: string, source: string, signal?: AbortSignal): Promise<Image> => {
  await importImage(context, name, source, signal)
  return (await load(context.own, name)) ?? Promise.reject(await unknown(context, name))
}

/** Opens the store; work that a crash left half done is removed. */
export const createImages = async (config: ImagesConfig, deps: ImagesDeps): Promise<Images> => {
  const own = join(config.dataDir, 'images')
  const context: Context = { ...deps, config, own, aliases: { ...defaultAliases, ...config.imageAliases } }
  // One import at a time: two of the same layers would race for one tree, and both wait for the same disk.
  const oneAtATime = keyedMutex()
  await mkdir(join(own, 'names'), { recursive: true, mode: 0o700 })
  await mkdir(join(own, 'trees'), { recursive: true, mode: 0o700 })
  for (const name of await entries(own))
    if (name.startsWith('.new-')) await rm(join(own, name), { recursive: true, force: true })
  return {
    async resolve(reference) {
      const key = keyIn(context, reference)
      const image = key === undefined ? undefined : await find(context, key)
      if (!image) throw await unknown(context, reference.slice(0, 255))
      return image
    },
    async list() {
      const found = await Promise.all((await names(context)).map(name => find(context, name)))
      return found.filter(image => image !== undefined)
    },
    async import(reference, source, signal) {
      const name = keyFor(context, reference)
      return oneAtATime('import', () => bring(context, name, source, signal))
    },
    async remove(reference) {
      const key = keyFor(context, reference)
      if ((await readIfThere(namePath(own, key))) === undefined) throw fail('not_found', { kind: 'image', name: key })
      await rm(namePath(own, key), { force: true })
    },
    collect: inUse => oneAtATime('import', () => collectTrees(own, inUse)),
  }
}
