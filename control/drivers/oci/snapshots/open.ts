/** What the start of a driver does about snapshots, and about restores that were interrupted. */
import type { DriverDeps } from '../../module.ts'
import type { Context } from '../context.ts'
import { bytesPerMb } from '../disk/shape.ts'
import { filesOf } from '../layout.ts'
import { machineIds } from '../list.ts'
import { readMarker } from '../marker.ts'
import { withScratch } from '../probe/check.ts'
import { sharesBlocks } from './copy.ts'
import { pledgeOf } from './cut.ts'
import { listSnapshots } from './index.ts'
import { readManifest } from './place.ts'
import { settleRestore } from './restore.ts'

/** A server that was killed may have left the files of before beside those of a machine that runs. */
const settleRestores = async (context: Pick<Context, 'dataDir' | 'hierarchy' | 'names'>): Promise<void> => {
  for (const id of await machineIds(context)) {
    const files = filesOf(context.dataDir, id)
    if ((await readMarker(files.marker))?.ready) await settleRestore(files)
  }
}

/** Blocks that are shared are promised to the snapshot that has them, as before. One that cannot be loaded is told, and left alone. */
const promiseSnapshots = async (
  { dataDir, disks, shareBlocks }: Pick<Context, 'dataDir' | 'disks' | 'shareBlocks'>,
  { log }: Pick<DriverDeps, 'log'>,
): Promise<void> => {
  for (const { id, committed } of await listSnapshots(dataDir)) {
    if (!committed) continue
    try {
      const { bytes } = (await readManifest(dataDir, id)) ?? { bytes: 0 }
      if (shareBlocks) await disks.pledges.promise(pledgeOf(id), Math.ceil(bytes / bytesPerMb))
    } catch (error) {
      log.warn('snapshot.unusable', { snapshot: id, error })
    }
  }
}

/** Whether copies in the data directory share their blocks. */
export const openSnapshots = async (
  context: Pick<Context, 'dataDir' | 'disks' | 'hierarchy' | 'names'>,
  deps: DriverDeps,
): Promise<boolean> => {
  const { dataDir } = context
  const shareBlocks = await withScratch(dataDir, deps.clock, undefined, ({ scratch }) => sharesBlocks(scratch))
  await promiseSnapshots({ ...context, shareBlocks }, deps)
  await settleRestores(context)
  return shareBlocks
}
