/**
 * Where snapshots are on disk:
 *
 *     snapshots/<id>/             a committed one: `snapshot.json`, and the trees that it names
 *     snapshots/<id>.draft/       one that is being made; it becomes the other by a rename
 *     machines/<id>/next/         trees that the machine's next start puts in the place of its own, once `next.json` is beside them
 *     machines/<id>/previous/     its own, until a daemon has answered
 */
import { readFileSync } from 'node:fs'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { errno, fail } from '../../../../shared/errors.ts'
import { parse, s, type Out } from '../../../../shared/schema.ts'
import { syncDirectory } from '../../../base/durable.ts'
import type { MachineFiles } from '../layout.ts'

/** Of builds that write what this one reads. A newer one is another number. */
const format = 1

const shape = s.object({
  format: s.literal(format),
  /** What is in its directory, by the names that these have in a machine's. */
  trees: s.array(s.enum(['disk.img', 'upper', 'private'])),
  disk: s.optional(s.object({ mb: s.int(), room: s.int(), project: s.optional(s.int()) })),
  /** Id of the box that root of the machine was, where the machine had users of its own. */
  firstId: s.optional(s.int()),
  memoryMb: s.number(),
  cpus: s.number(),
  bytes: s.int(),
  pauseMs: s.number(),
})

export type Manifest = Out<typeof shape>

const validId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export const snapshotsDir = (dataDir: string): string => join(dataDir, 'snapshots')

export interface SnapshotFiles {
  readonly dir: string
  readonly draft: string
  readonly manifest: string
}

export const draftSuffix = '.draft'

export const placeOf = (dataDir: string, id: string): SnapshotFiles => {
  if (!validId.test(id))
    throw fail('invalid_argument', { field: 'id', reason: 'must be 1 to 64 letters, digits, "-" or "_"' })
  const dir = join(snapshotsDir(dataDir), id)
  return { dir, draft: `${dir}${draftSuffix}`, manifest: join(dir, 'snapshot.json') }
}

/** Undefined when there is no such snapshot. Throws `driver_failed` for one that this build cannot load. */
export const readManifest = async (dataDir: string, id: string): Promise<Manifest | undefined> => {
  const { manifest } = placeOf(dataDir, id)
  try {
    return parse(shape, JSON.parse(await readFile(manifest, 'utf8')), 'config')
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined
    const reason = `${manifest} is not of a format that this build can load (${format}); go back to the build that made it`
    throw fail('driver_failed', { driver: 'oci', step: 'snapshot', reason }, error)
  }
}

/** Throws `not_found` as well. */
export const needManifest = async (dataDir: string, id: string): Promise<Manifest> => {
  const found = await readManifest(dataDir, id)
  if (!found) throw fail('not_found', { kind: 'snapshot', name: id })
  return found
}

/** The file is whole and on the disk, or not there. */
export const writeOnDisk = async (path: string, text: string): Promise<void> => {
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  await syncDirectory(join(path, '..'))
}

/** Where files of a restore are in a machine's directory. */
export const restoreOf = ({ dir }: Pick<MachineFiles, 'dir'>) => ({
  next: join(dir, 'next'),
  order: join(dir, 'next.json'),
  previous: join(dir, 'previous'),
  /** The marker as it was with the files of before. */
  marker: join(dir, 'previous', 'machine.json'),
})

const orderShape = s.object({
  snapshot: s.string(),
  trees: s.array(s.enum(['disk.img', 'upper', 'private'])),
  /** Of the file system in the file. */
  mb: s.optional(s.int()),
})

export type Order = Out<typeof orderShape>

/** What the next start of the machine is to put in the place of its files; undefined for nothing. */
export const readOrder = (files: Pick<MachineFiles, 'dir'>): Order | undefined => {
  try {
    return parse(orderShape, JSON.parse(readFileSync(restoreOf(files).order, 'utf8')), 'config')
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined
    throw error
  }
}
