/**
 * A backup becomes a data directory. Everything is unpacked into `.restore` in it and moved up when it is whole; while that is there, no
 * server starts, and a restore that was killed is begun anew. A directory that holds anything else is left alone.
 */
import { access, mkdir, readdir, readFile, realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errno, fail, messageOf } from '../../../shared/errors.ts'
import { syncDirectory } from '../../base/durable.ts'
import { claimDataDir } from '../../base/one-host.ts'
import { unpack, type LeftOut } from './archive.ts'
import { databaseName, manifestName, readManifest, type Manifest } from './manifest.ts'

const restoreName = '.restore'

export interface RestoreDeps {
  /** Brings the copied database to how things are here; throws when it is not whole. */
  readonly adapt: (path: string, moved: readonly { readonly from: string; readonly to: string }[]) => Promise<void>
}

export interface Restored extends Manifest {
  /** Files that lie deeper than a path can be long. */
  readonly leftOut: LeftOut
}

export interface RestoreOrder {
  readonly from: string
  readonly dataDir: string
  readonly imagesDir: string
}

/** What a restore that was killed has left, it also clears: nobody could have used it. */
const clear = async (dataDir: string): Promise<void> => {
  const names = await readdir(dataDir)
  if (names.length > 0 && !names.includes(restoreName))
    throw fail('already_exists', { kind: 'data directory', name: dataDir })
  // The mark goes last.
  for (const name of [...names.filter(name => name !== restoreName), restoreName])
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

const broken = (from: string, reason: string, cause?: unknown) =>
  fail('invalid_argument', { field: from, reason: `is not a whole backup: ${reason}` }, cause)

const manifestOf = async (from: string, place: string): Promise<Manifest> => {
  try {
    return readManifest(await readFile(join(place, manifestName), 'utf8'))
  } catch (error) {
    throw broken(from, errno(error) === 'ENOENT' ? 'its end is missing' : messageOf(error), error)
  }
}

const check = async (from: string, place: string, { machines }: Manifest): Promise<void> => {
  for (const id of machines)
    await access(join(place, 'machines', id)).catch(error => {
      throw broken(from, `the files of ${id} are missing`, error)
    })
}

/** Into the directory, from which everything that is half done is gone; resolves with what was restored. */
const restoreInto = async (deps: RestoreDeps, { from, imagesDir }: RestoreOrder, dataDir: string) => {
  await clear(dataDir)
  const place = join(dataDir, restoreName)
  await mkdir(place, { mode: 0o700 })
  try {
    const leftOut = await unpack(from, place).catch(error => {
      throw broken(from, messageOf(error), error)
    })
    const manifest = await manifestOf(from, place)
    await check(from, place, manifest)
    await deps.adapt(join(place, databaseName), [
      { from: manifest.imagesDir, to: imagesDir },
      { from: join(manifest.dataDir, 'images'), to: join(dataDir, 'images') },
    ])
    await rm(join(place, manifestName))
    for (const name of await readdir(place)) await rename(join(place, name), join(dataDir, name))
    await syncDirectory(dataDir)
    await rm(place, { recursive: true })
    await syncDirectory(dataDir)
    return { ...manifest, leftOut }
  } catch (error) {
    await clear(dataDir)
    throw error
  }
}

/**
 * Throws `unavailable` for a file that is not there, `already_exists` for a directory that is not empty, `busy` while a server runs on it,
 * `invalid_argument` for what is no whole backup; then the directory is empty.
 */
export const restore = async (deps: RestoreDeps, order: RestoreOrder): Promise<Restored> => {
  await access(order.from).catch(error => {
    throw fail('unavailable', { what: `${order.from} cannot be read (${errno(error)})`, next: 'name a backup' }, error)
  })
  await mkdir(order.dataDir, { recursive: true, mode: 0o700 })
  const dataDir = await realpath(order.dataDir)
  const claim = await claimDataDir(dataDir)
  try {
    return await restoreInto(deps, order, dataDir)
  } finally {
    await claim.release()
  }
}

/** Throws `unavailable` in a directory whose restore was not finished. */
export const needWhole = async (dataDir: string): Promise<void> => {
  const names = await readdir(dataDir)
  if (names.includes(restoreName))
    throw fail('unavailable', {
      what: `a restore into ${dataDir} was not finished`,
      next: 'run it again, or remove the directory',
    })
}
