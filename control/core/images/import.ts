/** Brings images into a directory of images (layout.ts), and removes what no name leads to any more. */
import { access, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import { errno } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import { writeDurably } from '../../base/durable.ts'
import { watchDisk } from './disk.ts'
import { fetchImage } from './fetch.ts'
import { entries, listNames, namePath, readName, removeWork, treePath } from './layout.ts'

export interface ImportDeps {
  /** The directory. */
  readonly own: string
  readonly ids: Ids
  readonly log: Log
  readonly clock: Clock
}

/** Says every few seconds, while an import runs, at which step it is. */
const reportSteps = (about: { image: string; source: string }, { log, clock }: ImportDeps) => {
  const start = clock.elapsed()
  let step = ''
  const stop = clock.every(5_000, () =>
    log.info('image.importing', { ...about, step, seconds: Math.round((clock.elapsed() - start) / 1000) }),
  )
  return { stop, onStep: (next: string) => void (step = next) }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** The tree is there already: the same image under another name. */
export const ignoreTaken = (error: unknown): void => {
  const code = errno(error)
  if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error
}

/** Fetches `source` as skopeo reads it and names it `name`. Throws `image_failed`; then nothing has changed. */
export const importImage = async (
  deps: ImportDeps,
  name: string,
  source: string,
  signal?: AbortSignal,
): Promise<void> => {
  const { own, ids } = deps
  const work = join(own, `.new-${ids.short(12)}`)
  await mkdir(work, { mode: 0o755 })
  const { stop, onStep } = reportSteps({ image: name, source }, deps)
  const disk = watchDisk(own, deps.clock)
  const room = signal ? AbortSignal.any([signal, disk.signal]) : disk.signal
  try {
    const have = (digest: string) => exists(treePath(own, digest))
    const digest = await fetchImage({ name, source, work, have, onStep }, room)
    await rename(join(work, 'tree'), treePath(own, digest)).catch(ignoreTaken)
    await writeDurably(namePath(own, name), JSON.stringify({ digest }), ids)
  } finally {
    stop()
    disk.stop()
    await removeWork(work)
  }
}

/** Removes trees without a name that are not kept for another reason; answers the digests removed. */
export const collectTrees = async (own: string, isKept: (digest: string) => boolean): Promise<string[]> => {
  const named = await Promise.all((await listNames(own)).map(name => readName(own, name)))
  const idle = (await entries(join(own, 'trees'))).filter(digest => !named.includes(digest) && !isKept(digest))
  for (const digest of idle) {
    // Out of sight first, so that a crash half-way leaves no half tree under its digest.
    const grave = join(own, `.new-${digest}`)
    await rename(treePath(own, digest), grave)
    await rm(grave, { recursive: true, force: true })
  }
  return idle
}
