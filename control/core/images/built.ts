/**
 * Images that workspaces have built, a file for each reference: `built/<workspace>/<encoded reference>.json`. A workspace finds only
 * its own; trees below are shared by all.
 */
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import type { Ids } from '../../../shared/ids.ts'
import { parse, s, type Out } from '../../../shared/schema.ts'
import { writeDurably } from '../../base/durable.ts'
import { watchDisk } from './disk.ts'
import { ignoreTaken } from './import.ts'
import { entries, readJson, removeWork, treePath } from './layout.ts'
import { downloadImage } from './pull/download.ts'
import type { Repository } from './pull/registry.ts'
import { mostEntries } from './pull/scan.ts'
import { stepsOf } from './step.ts'
import { unpackImage } from './unpack.ts'

const shape = s.object({
  /** `agent/support:k3j9…`: without the tag where that is `latest`. */
  reference: s.string(),
  digest: s.string().check(s.regex(/^[0-9a-f]{16,64}$/)),
  /** Bytes, unpacked. */
  size: s.int(),
  builtAt: s.int(),
})
export type BuiltImage = Out<typeof shape>

export interface TakeBuilt {
  readonly workspace: string
  /** Each of them names the image afterwards. */
  readonly references: readonly string[]
  readonly repository: Repository
  readonly maxBytes: number
  readonly signal: AbortSignal
}

export interface BuiltImages {
  get(workspace: string, reference: string): Promise<BuiltImage | undefined>
  /** Of a workspace, by reference. */
  list(workspace: string): Promise<BuiltImage[]>
  workspaces(): Promise<string[]>
  every(): Promise<BuiltImage[]>
  /** Downloads, unpacks and names an image. Throws `unprocessable`, `image_failed`; then nothing has changed. */
  take(built: TakeBuilt): Promise<BuiltImage>
  /** Names a tree that is there. */
  name(workspace: string, references: readonly string[], tree: Pick<BuiltImage, 'digest' | 'size'>): Promise<BuiltImage>
  remove(workspace: string, reference: string): Promise<void>
}

interface Deps {
  readonly clock: Clock
  readonly ids: Ids
  /** Keeps a tree that is not named yet from being collected. */
  readonly hold: (digest: string) => void
}

const download = async (own: string, built: TakeBuilt, { clock, ids, hold }: Deps) => {
  const { repository, maxBytes, references } = built
  const disk = watchDisk(own, clock)
  const signal = AbortSignal.any([built.signal, disk.signal])
  const work = join(own, `.new-${ids.short(12)}`)
  try {
    const { manifest, digest: full } = await repository.manifest(signal)
    const digest = full.slice('sha256:'.length)
    await mkdir(work, { mode: 0o755 })
    const budget = { bytes: maxBytes, entries: mostEntries }
    const silent = () => {}
    await downloadImage({
      manifest,
      repository,
      budget,
      signal,
      layout: join(work, 'layout'),
      onBytes: silent,
      onLayer: silent,
    })
    await unpackImage({ work, maxBytes, run: stepsOf(references[0] ?? ''), signal })
    hold(digest)
    await rename(join(work, 'tree'), treePath(own, digest)).catch(ignoreTaken)
    return { digest, size: maxBytes - budget.bytes }
  } finally {
    disk.stop()
    await removeWork(work)
  }
}

export const builtImages = (own: string, deps: Deps): BuiltImages => {
  const root = join(own, 'built')
  const directory = (workspace: string) => join(root, encodeURIComponent(workspace))
  const file = (workspace: string, reference: string) =>
    join(directory(workspace), `${encodeURIComponent(reference)}.json`)
  const read = async (path: string): Promise<BuiltImage | undefined> => {
    const value = await readJson(path)
    return value === undefined ? undefined : parse(shape, value, 'config')
  }
  const within = async (dir: string): Promise<BuiltImage[]> => {
    const files = (await entries(dir)).filter(name => name.endsWith('.json') && !name.startsWith('.')).sort()
    return (await Promise.all(files.map(name => read(join(dir, name))))).filter(one => one !== undefined)
  }
  const name: BuiltImages['name'] = async (workspace, references, tree) => {
    const [first = ''] = references
    const builtAt = deps.clock.now()
    await mkdir(directory(workspace), { recursive: true, mode: 0o700 })
    for (const reference of references)
      await writeDurably(file(workspace, reference), JSON.stringify({ ...tree, reference, builtAt }), deps.ids)
    return { ...tree, reference: first, builtAt }
  }
  return {
    get: (workspace, reference) => read(file(workspace, reference)),
    list: workspace => within(directory(workspace)),
    workspaces: async () => (await entries(root)).map(decodeURIComponent),
    async every() {
      const all = await Promise.all((await entries(root)).map(one => within(join(root, one))))
      return all.flat()
    },
    name,
    async take(built) {
      const { digest, size } = await download(own, built, deps)
      return name(built.workspace, built.references, { digest, size })
    },
    remove: (workspace, reference) => rm(file(workspace, reference), { force: true }),
  }
}
