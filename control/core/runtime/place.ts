/** Files and trees that appear whole or not at all, whoever else is at the same. */
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../../../shared/errors.ts'

const unpackedForMs = 60 * 60_000

/** Gives `use` a directory of its own in `dir`, gone afterwards. */
export const inWork = async (dir: string, use: (work: string) => Promise<void>): Promise<void> => {
  const work = await mkdtemp(join(dir, '.new-'))
  try {
    await use(work)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Replaces `path` by what `make` makes; a reader finds the old or the new. */
export const publish = (dir: string, path: string, make: (beside: string) => Promise<void>): Promise<void> =>
  inWork(dir, async work => {
    await make(join(work, 'new'))
    await rename(join(work, 'new'), path)
  })

/** Moves a tree to its place, unless the same is there already. */
export const place = async (from: string, to: string): Promise<void> => {
  await rename(from, to).catch(error => {
    if (errno(error) !== 'ENOTEMPTY' && errno(error) !== 'EEXIST') throw error
  })
}

const modifiedAt = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    error => {
      if (errno(error) === 'ENOENT') return undefined
      throw error
    },
  )

/** What an unpacking that was killed has left; one of another process may be under way. */
export const removeRemains = async (dir: string, now: number): Promise<void> => {
  for (const name of (await readdir(dir)).filter(name => name.startsWith('.new-'))) {
    const path = join(dir, name)
    const since = await modifiedAt(path)
    if (since !== undefined && now - since > unpackedForMs) await rm(path, { recursive: true, force: true })
  }
}
