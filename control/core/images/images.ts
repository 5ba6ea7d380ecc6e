/**
 * The image store: unpacked root file systems by digest, and names for them. It looks in two directories of
 * one layout: the data directory's own (imports, pulls), then the one shared by all data directories of this machine
 * (built from the recipes under images/; only read here). What those do not have and a registry may have is pulled.
 */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../base/config.ts'
import { readIfThere } from '../../base/durable.ts'
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import { keyedMutex } from '../../../shared/sync.ts'
import { builtImages, type BuiltImages } from './built.ts'
import { remembering, type Remember } from './remembered.ts'
import { collectTrees, importImage } from './import.ts'
import { configPath, entries, listNames, namePath, readName, readTree, treePath, type ImageConfig } from './layout.ts'
import { createLeases, type Leases } from './leases.ts'
import { createPulling, type LoginFor, type Pulling } from './pulling.ts'
import { keyOf, remoteOf } from './reference.ts'
import { holderOf, noShares, sharedWith, type ImageShares, type SharedImage } from './shared.ts'

export interface Image extends ImageConfig {
  /** The key: the reference without wire prefix and `:latest`; of a pulled one the whole reference. */
  readonly name: string
  readonly digest: string
  /** Absolute path of the root file system; mounted read-only, never written. */
  readonly rootfs: string
}

export interface Images {
  /** The image of this host that a reference names. Throws `invalid_image` with the supported ones in its details. */
  resolve(reference: string): Promise<Image>
  /**
   * Whether a sandbox of the workspace can be made from it: it is here, or a registry that may be asked may have it. Throws
   * `invalid_image` when it is neither, `image_refused` for a registry that the operator does not let anybody ask.
   */
  check(reference: string, workspace: string): Promise<void>
  /**
   * The image for a machine of the workspace. Throws `busy` while it is pulled: ask again until it is there. Throws
   * `image_refused` or `image_failed` when the pull has failed, and what `check` throws.
   */
  need(reference: string, workspace: string): Promise<Image>
  /** The image that a machine was made from, whatever names say now; undefined when its files are gone. */
  byDigest(digest: string): Promise<Image | undefined>
  /** Every image of this host, by name; what workspaces have pulled is theirs (`pulling`). */
  list(): Promise<Image[]>
  /**
   * Brings in an image under `reference` from anything skopeo reads (`docker://…`, `oci:DIR:TAG`, `oci-archive:…`).
   * A name that exists moves to the new tree; sandboxes made from the old one keep it. Throws `image_failed`.
   */
  import(reference: string, source: string, signal?: AbortSignal): Promise<Image>
  /** What other workspaces share with this one. */
  shared(workspace: string): Promise<SharedImage[]>
  /** Names of images that a workspace shares with others. */
  offered(workspace: string): Promise<ReadonlySet<string>>
  /** The one form in which an image of a registry is known by; undefined for a reference that names none. */
  remoteName(reference: string): string | undefined
  /** Digests of all trees of the data directory. */
  trees(): Promise<string[]>
  /** Forgets a name of the data directory; its tree stays until `collect`. */
  remove(reference: string): Promise<void>
  /** Removes trees without a name that are neither in `inUse` nor just asked for; answers the digests removed. */
  collect(inUse: ReadonlySet<string>): Promise<string[]>
  readonly pulling: Pulling
  /** What workspaces have built, by keys (`keyOf`). A workspace's own image goes before one of the host with the same name. */
  readonly built: BuiltImages
  /** The form in which an image of this host is known by; undefined for what is no reference. */
  keyOf(reference: string): string | undefined
  /** Ends pulls under way. */
  close(): Promise<void>
}

export interface ImagesConfig
  extends Pick<Config, 'dataDir' | 'imagesDir' | 'wireNames'>,
    Partial<Pick<Config, 'imageAliases' | 'registries' | 'proxies' | 'pullLimits' | 'caFile'>> {}

const defaultAliases: Readonly<Record<string, string>> = { 'base-image': 'base' }

export interface ImagesDeps {
  readonly ids: Ids
  readonly log: Log
  readonly clock: Clock
  /** What a workspace signs in to a registry with; nobody has anything unless given. */
  readonly loginFor?: LoginFor
  /** Nobody shares anything unless given. */
  readonly shares?: ImageShares
}

interface Context extends ImagesDeps {
  readonly shares: ImageShares
  readonly config: ImagesConfig
  readonly aliases: Readonly<Record<string, string>>
  /** The data directory's own images. */
  readonly own: string
  readonly leases: Leases
  readonly pulling: Pulling
  readonly built: BuiltImages
  readonly remember: Remember
}

const load = async (
  { remember }: Context,
  dir: string,
  digest: string | undefined,
  name: string,
): Promise<Image | undefined> => {
  const tree = digest && (await remember(configPath(dir, digest), () => readTree(dir, digest)))
  return digest && tree ? { ...tree, name, digest, rootfs: join(treePath(dir, digest), 'rootfs') } : undefined
}

const named = async (context: Context, dir: string, name: string): Promise<Image | undefined> =>
  load(context, dir, await context.remember(namePath(dir, name), () => readName(dir, name)), name)

const find = async (context: Context, name: string): Promise<Image | undefined> =>
  (await named(context, context.own, name)) ?? (await named(context, context.config.imagesDir, name))

/** Images of the host's own use: the one that builders run on is made when first needed, and offered to nobody. */
const unlisted: ReadonlySet<string> = new Set(['builder'])

const names = async ({ own, config }: Context): Promise<string[]> =>
  [...new Set([...(await listNames(own)), ...(await listNames(config.imagesDir))])]
    .filter(name => !unlisted.has(name))
    .sort()

const found = async (context: Context): Promise<Image[]> => {
  const all = await Promise.all((await names(context)).map(name => find(context, name)))
  return all.filter(image => image !== undefined)
}

const unknown = async (context: Context, requested: string) => {
  const { config, aliases } = context
  // A name whose files are gone is not one that can be asked for instead.
  const known = (await found(context)).map(({ name }) => name)
  const short = Object.keys(aliases).filter(alias => known.includes(aliases[alias] as string))
  const supported = config.wireNames.flatMap(wire => short.map(alias => `${wire.image}/${alias}:latest`))
  return fail('invalid_image', { requested: requested.slice(0, 255), supported: [...supported, ...known] })
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

const resolveHere = async (context: Context, reference: string): Promise<Image | undefined> => {
  const key = keyIn(context, reference)
  return key === undefined ? undefined : find(context, key)
}

/** What the workspace has built under that name. */
const builtHere = async (context: Context, reference: string, workspace: string): Promise<Image | undefined> => {
  const key = keyIn(context, reference)
  const found = key === undefined ? undefined : await context.built.get(workspace, key)
  return found && load(context, context.own, found.digest, found.reference)
}

const bring = async (context: Context, name: string, source: string, signal?: AbortSignal): Promise<Image> => {
  await importImage(context, name, source, signal)
  return (await named(context, context.own, name)) ?? Promise.reject(await unknown(context, name))
}

/** Opens the directory; work that a crash left half done is removed. */
const openOwn = async (own: string): Promise<void> => {
  for (const part of ['names', 'trees', 'pulled']) await mkdir(join(own, part), { recursive: true, mode: 0o700 })
  for (const name of await entries(own))
    if (name.startsWith('.new-')) await rm(join(own, name), { recursive: true, force: true })
}

/** What a pulled image is asked by: an alias may stand for one. */
const remoteIn = (context: Context, reference: string) => remoteOf(keyIn(context, reference) ?? reference)

const pullable = async (context: Context, reference: string) => {
  const remote = remoteIn(context, reference)
  if (!remote) throw await unknown(context, reference)
  context.pulling.check(remote)
  return remote
}

const verbs = (context: Context): Omit<Images, 'import' | 'collect'> => {
  const { own, config, leases, pulling, shares } = context
  return {
    async resolve(reference) {
      return (await resolveHere(context, reference)) ?? Promise.reject(await unknown(context, reference))
    },
    async check(reference, workspace) {
      const here = (await builtHere(context, reference, workspace)) ?? (await resolveHere(context, reference))
      if (!here) await pullable(context, reference)
    },
    async need(reference, workspace) {
      const here = (await builtHere(context, reference, workspace)) ?? (await resolveHere(context, reference))
      if (here) {
        leases.hold(here.digest)
        return here
      }
      const remote = await pullable(context, reference)
      const digest = await pulling.need(remote, await holderOf(context, remote, workspace))
      leases.hold(digest)
      return (await load(context, own, digest, remote.name)) ?? Promise.reject(await unknown(context, reference))
    },
    byDigest: async digest => (await load(context, own, digest, '')) ?? load(context, config.imagesDir, digest, ''),
    list: () => found(context),
    async remove(reference) {
      const key = keyFor(context, reference)
      if ((await readIfThere(namePath(own, key))) === undefined) throw fail('not_found', { kind: 'image', name: key })
      await rm(namePath(own, key), { force: true })
    },
    shared: workspace => sharedWith(context, workspace),
    offered: shares.offered,
    remoteName: reference => remoteIn(context, reference)?.name,
    trees: () => entries(join(own, 'trees')),
    pulling,
    built: context.built,
    keyOf: reference => keyIn(context, reference),
    close: pulling.close,
  }
}

/** Throws `invalid_argument` when the file of authorities cannot be read. */
export const createImages = async (config: ImagesConfig, deps: ImagesDeps): Promise<Images> => {
  const own = join(config.dataDir, 'images')
  await openOwn(own)
  const leases = createLeases(deps.clock)
  const pulling = await createPulling({ ...config, own }, { ...deps, leases })
  const aliases = config.imageAliases ?? defaultAliases
  const shares = deps.shares ?? noShares
  const built = builtImages(own, { ...deps, hold: leases.hold })
  const context: Context = { ...deps, shares, config, own, aliases, leases, pulling, built, remember: remembering() }
  // One import at a time: two of the same layers would race for one tree, and both wait for the same disk.
  const oneAtATime = keyedMutex()
  return {
    ...verbs(context),
    async import(reference, source, signal) {
      const name = keyFor(context, reference)
      return oneAtATime('import', () => bring(context, name, source, signal))
    },
    collect: inUse =>
      oneAtATime('import', async () => {
        const named = new Set([...(await pulling.every()), ...(await built.every())].map(({ digest }) => digest))
        const isKept = (digest: string) => inUse.has(digest) || leases.isHeld(digest) || named.has(digest)
        return collectTrees(own, isKept)
      }),
  }
}
