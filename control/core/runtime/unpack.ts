/**
 * What an installed package carries for sandboxes: `runtime.tar.zst` with the runtime bundle and the image `busybox`, and
 * `runtime.json`, which says what is in it. It is unpacked once for each data directory and not used where it lies: npm
 * replaces a package by removing it, and running sandboxes go on with the bundle they were started with.
 *
 *     DATA/runtime/bundles/<digest>/   as a build of a checkout leaves them; `current` leads to the one of this package, `latest` names it
 *     DATA/runtime/bundle              the same link, for the server
 *     DATA/runtime/images/             control/core/images/layout.ts
 */
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import { parse, s, type Out } from '../../../shared/schema.ts'
import { namePath, readName, treePath } from '../images/layout.ts'
import { extract } from './extract.ts'
import { writeLatest } from './latest.ts'
import { isThere } from '../../../shared/is-there.ts'
import { inWork, place, publish, removeRemains } from './place.ts'
import { pruneBundles } from './prune.ts'

export interface UnpackDeps {
  readonly log: Log
  readonly clock: Clock
}

const digest = s.string().check(s.regex(/^[0-9a-f]{32}$/))
const shape = s.object({ bundle: digest, images: s.record(s.string(), digest) })
type Contents = Out<typeof shape>

/** Where the parts of an archive are, in it and where it is unpacked: each is whole when the file named `proof` is there. */
const partsOf = ({ bundle, images }: Contents): { path: string; proof: string }[] => [
  { path: join('bundles', bundle), proof: 'bundle.json' },
  ...Object.values(images).map(tree => ({ path: treePath('images', tree), proof: 'image.json' })),
]

/** Bundles of earlier versions that no sandbox uses any more; only root sees who uses what. */
const prune = (dir: string, { log, clock }: UnpackDeps): void => {
  if (process.geteuid?.() !== 0) return
  try {
    const gone = pruneBundles(join(dir, 'bundles'), clock.now())
    if (gone.length > 0) log.info('runtime.pruned', { bundles: gone })
  } catch (error) {
    log.warn('runtime.unpruned', { dir, error })
  }
}

const unpackParts = async (archive: string, dir: string, contents: Contents, deps: UnpackDeps): Promise<void> => {
  const parts = partsOf(contents)
  const here = await Promise.all(parts.map(({ path, proof }) => isThere(join(dir, path, proof))))
  if (here.every(Boolean)) return
  deps.log.info('runtime.unpacking', { dir, note: 'once for this version and data directory' })
  await removeRemains(dir, deps.clock.now())
  await inWork(dir, async work => {
    await extract(archive, work)
    // Its age counts from now: bundles that nobody uses are removed by age.
    await writeFile(join(work, 'bundles', contents.bundle, '.inputs'), 'package\n')
    for (const { path } of parts) await place(join(work, path), join(dir, path))
  })
}

/** Unpacks what is missing and makes it current. `from` is the directory of the archive; throws `unavailable`. */
export const unpackRuntime = async (from: string, dir: string, deps: UnpackDeps): Promise<void> => {
  const contents = parse(shape, JSON.parse(await readFile(join(from, 'runtime.json'), 'utf8')), 'config')
  for (const part of ['bundles', 'images/trees', 'images/names'])
    await mkdir(join(dir, part), { recursive: true, mode: 0o755 })
  // Sandboxes are shown it as nobody, whatever the umask was.
  await chmod(join(dir, 'bundles'), 0o755)
  await unpackParts(join(from, 'runtime.tar.zst'), dir, contents, deps)
  await publish(dir, join(dir, 'bundles/current'), path => symlink(contents.bundle, path))
  writeLatest(join(dir, 'bundles'), contents.bundle)
  await publish(dir, join(dir, 'bundle'), path => symlink(join('bundles', contents.bundle), path))
  const images = join(dir, 'images')
  for (const [name, tree] of Object.entries(contents.images)) {
    if ((await readName(images, name)) !== tree)
      await publish(dir, namePath(images, name), path => writeFile(path, `${JSON.stringify({ digest: tree })}\n`))
  }
  prune(dir, deps)
}
