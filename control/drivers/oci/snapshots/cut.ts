/** Makes a snapshot of a machine: its drafts, and what makes them whole. */
import { existsSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../../../shared/errors.ts'
import { syncDirectory } from '../../../base/durable.ts'
import type { Committed, Still } from '../../snapshotter.ts'
import { processesIn } from '../cgroup/processes.ts'
import { isFrozen } from '../cgroup/freezer.ts'
import { run, tool } from '../command.ts'
import { groupOf, type Context } from '../context.ts'
import { bytesPerMb } from '../disk/shape.ts'
import { usedBytes } from '../disk/used.ts'
import { filesOf, type MachineFiles } from '../layout.ts'
import { readMarker, type Marker } from '../marker.ts'
import { removeDirectory } from '../remove-directory.ts'
import { bytesOf, copyTree, syncTree, type Tree } from './copy.ts'
import { placeOf, readManifest, writeOnDisk, type Manifest } from './place.ts'

/** What room for a copy is promised to. */
export const pledgeOf = (id: string): string => `s-${id}`

/** What was written is on the disk, and so in the file that it is in; of a machine with volumes, in theirs too where that is asked for. */
export const flushMachine = async ({ hierarchy, names }: Context, id: string, hasVolumes = false): Promise<boolean> => {
  const [pid] = await processesIn(hierarchy, groupOf(names, id))
  if (pid === undefined) return false
  // The way to a volume is the tenant's, who may have put a link there: all of the box's file systems instead.
  const args = hasVolumes ? [] : ['--file-system', `/proc/${pid}/root/`]
  await run({ step: 'flush disk', file: tool('sync'), args })
  return true
}

/** The marker of a machine that has files of its tenant's. */
const needMarker = async (context: Context, machine: string): Promise<Marker> => {
  const found = context.overlay ? await readMarker(filesOf(context.dataDir, machine).marker) : undefined
  if (found?.kept && found.marks === 'user') return found
  const reason = context.overlay
    ? `machine ${machine} has no files of its own yet, or those of a version before; restart the sandbox`
    : 'roots are whole copies, as the data directory carries no overlay; use ext4 or xfs'
  throw fail('driver_failed', { driver: 'oci', step: 'snapshot', reason })
}

const treesOf = (files: MachineFiles): Tree[] =>
  existsSync(files.disk) ? ['disk.img'] : (['upper', 'private'] as const).filter(tree => existsSync(files[tree]))

const sizeOf = async (files: MachineFiles, dataDir: string, machine: string): Promise<number> => {
  const known = usedBytes(dataDir, machine)
  return known > 0 || !existsSync(files.upper) ? known : bytesOf(files.dir, 'upper')
}

/** Takes room, and makes the cut short. */
export const prepareSnapshot = async (
  context: Context,
  id: string,
  machine: string,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const { dataDir, disks } = context
  if (await readManifest(dataDir, id)) return
  await needMarker(context, machine)
  const { draft } = placeOf(dataDir, id)
  await removeDirectory(draft)
  const mb = Math.ceil((await sizeOf(filesOf(dataDir, machine), dataDir, machine)) / bytesPerMb)
  await disks.pledges.promise(pledgeOf(id), mb)
  await mkdir(draft, { recursive: true, mode: 0o700 })
  signal?.throwIfAborted()
  // A machine that sleeps has been flushed, or is in the cut.
  const isAsleep = await isFrozen(context.hierarchy, groupOf(context.names, machine))
  if (!isAsleep) await flushMachine(context, machine)
}

/** The files at one moment; resolves with how long that took, ms. */
const cut = async (
  context: Context,
  [machine, draft, trees]: readonly [string, string, readonly Tree[]],
  still: Still,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const { dataDir, hierarchy, names, clock } = context
  const { dir: from } = filesOf(dataDir, machine)
  let pauseMs = 0
  const wasAsleep = await isFrozen(hierarchy, groupOf(names, machine))
  await still(async () => {
    const begun = clock.elapsed()
    const runs = await flushMachine(context, machine)
    for (const tree of trees) await copyTree({ from, to: draft, tree, settled: !runs, signal })
    pauseMs = runs && !wasAsleep ? clock.elapsed() - begun : 0
  })
  return Math.round(pauseMs * 10) / 10
}

export const commitSnapshot = async (
  context: Context,
  id: string,
  machine: string,
  still: Still,
  signal: AbortSignal | undefined,
): Promise<Committed> => {
  const { dataDir, disks, shareBlocks } = context
  const before = await readManifest(dataDir, id)
  if (before) return { bytes: before.bytes, pauseMs: before.pauseMs }
  const { dir, draft } = placeOf(dataDir, id)
  const { disk, firstId, memoryMb, cpus } = await needMarker(context, machine)
  const trees = treesOf(filesOf(dataDir, machine))
  const pauseMs = await cut(context, [machine, draft, trees], still, signal)
  let bytes = 0
  for (const tree of trees) {
    await syncTree(draft, tree, signal)
    bytes += await bytesOf(draft, tree, signal)
  }
  const manifest: Manifest = {
    format: 1,
    trees,
    ...(disk ? { disk } : {}),
    ...(firstId === undefined ? {} : { firstId }),
    memoryMb,
    cpus,
    bytes,
    pauseMs,
  }
  await writeOnDisk(join(draft, 'snapshot.json'), JSON.stringify(manifest))
  await rename(draft, dir)
  await syncDirectory(join(dir, '..'))
  // Blocks that are shared are taken when either side changes them: until then they are only promised.
  if (!shareBlocks) disks.pledges.forget(pledgeOf(id))
  return { bytes, pauseMs }
}
