/**
 * Files of a snapshot for a machine that has files already, which are kept until a daemon has answered with the others:
 *
 *     next/ is laid beside the machine's files → next.json, from which on the next start takes them → the machine's own go to previous/,
 *     those of next/ take their place → a daemon answers and previous/ goes, or none does and previous/ is put back
 *
 * Each step finds nothing to do when it was done before: a crash leaves something that the next start goes on from.
 */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../../../shared/errors.ts'
import { syncDirectory } from '../../../base/durable.ts'
import type { Context } from '../context.ts'
import { isFile } from '../disk/kind.ts'
import { bytesPerMb } from '../disk/shape.ts'
import { filesOf, type MachineFiles } from '../layout.ts'
import { readMarker, readMarkerNow, writeMarkerNow, type Marker } from '../marker.ts'
import { removeDirectory } from '../remove-directory.ts'
import { copyTree, syncTree, type Tree } from './copy.ts'
import { needManifest, placeOf, readOrder, restoreOf, writeOnDisk } from './place.ts'

const nextPledge = (machine: string): string => `n-${machine}`

/** Lays the files beside those of the machine, which goes on. */
export const layBeside = async (
  context: Context,
  id: string,
  machine: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const { dataDir, disks } = context
  const files = filesOf(dataDir, machine)
  const { next, order } = restoreOf(files)
  const { trees, disk, bytes } = await needManifest(dataDir, id)
  const marker = await readMarker(files.marker)
  if (!marker?.kept) throw fail('not_found', { kind: 'machine', name: machine })
  if (isFile(marker.disk) !== trees.includes('disk.img')) {
    const reason = 'its files are kept in another way than those of the snapshot; fork the snapshot instead'
    throw fail('driver_failed', { driver: 'oci', step: 'restore', reason })
  }
  rmSync(order, { force: true })
  await removeDirectory(next)
  await disks.pledges.promise(nextPledge(machine), Math.ceil(bytes / bytesPerMb))
  try {
    await mkdir(next, { mode: 0o700 })
    for (const tree of trees) {
      await copyTree({ from: placeOf(dataDir, id).dir, to: next, tree, signal })
      await syncTree(next, tree, signal)
    }
    await syncDirectory(next)
    await writeOnDisk(order, JSON.stringify({ snapshot: id, trees, ...(disk ? { mb: disk.mb } : {}) }))
  } catch (error) {
    await removeDirectory(next)
    throw error
  } finally {
    disks.pledges.forget(nextPledge(machine))
  }
}

/** Whether something lies beside the files of a machine. */
export const isLaid = (files: MachineFiles): boolean => {
  const { next, order } = restoreOf(files)
  return existsSync(order) || existsSync(next)
}

/** Takes it away: from the first step on no start takes it. */
export const forsake = async (files: MachineFiles): Promise<void> => {
  const { next, order } = restoreOf(files)
  rmSync(order, { force: true })
  await removeDirectory(next)
}

const all: readonly Tree[] = ['disk.img', 'upper', 'private']

const moveInto = (from: string, to: string, trees: readonly Tree[]): void => {
  for (const tree of trees) if (existsSync(join(from, tree))) renameSync(join(from, tree), join(to, tree))
}

const putAway = async (files: MachineFiles, marker: Marker): Promise<void> => {
  const made = `${restoreOf(files).previous}.new`
  await mkdir(made, { recursive: true, mode: 0o700 })
  await writeOnDisk(join(made, 'machine.json'), JSON.stringify(marker))
  moveInto(files.dir, made, all)
  await rename(made, restoreOf(files).previous)
}

/**
 * Puts what lies beside the files of a machine that does not run in their place. Resolves with its marker as it is from then on, or
 * as it was when nothing lies there.
 */
export const swapIn = async (files: MachineFiles, marker: Marker): Promise<Marker> => {
  const { next, order, previous } = restoreOf(files)
  const wanted = readOrder(files)
  if (!wanted) return marker
  if (wanted.trees.every(tree => existsSync(join(next, tree)))) {
    if (!existsSync(previous)) await putAway(files, marker)
    // Of an earlier restore, of which no daemon has answered.
    for (const tree of all) await removeDirectory(join(files.dir, tree))
  }
  moveInto(next, files.dir, wanted.trees)
  const { disk } = marker
  const origin = wanted.snapshot
  const after: Marker = {
    ...marker,
    ready: false,
    origin,
    ...(disk && isFile(disk) ? { disk: { ...disk, mb: wanted.mb ?? disk.mb } } : {}),
  }
  writeMarkerNow(files.marker, after)
  rmSync(order, { force: true })
  await removeDirectory(next)
  await syncDirectory(files.dir)
  return after
}

/** The machine, which does not run, has its own files again, if they lie beside others. */
export const swapBack = async (files: MachineFiles): Promise<boolean> => {
  const { previous, marker } = restoreOf(files)
  if (!existsSync(previous)) return false
  const before = readMarkerNow(marker)
  for (const tree of all) {
    if (!existsSync(join(previous, tree))) continue
    await removeDirectory(join(files.dir, tree))
    moveInto(previous, files.dir, [tree])
  }
  if (before) writeMarkerNow(files.marker, { ...before, ready: false })
  await removeDirectory(previous)
  await syncDirectory(files.dir)
  return true
}

/** A daemon has answered with the files that were put there: what lies beside them goes. */
export const settleRestore = async (files: MachineFiles): Promise<void> => {
  const { previous, order } = restoreOf(files)
  if (existsSync(previous) && !existsSync(order)) await removeDirectory(previous)
}
