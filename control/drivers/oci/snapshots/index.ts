/** Snapshots of machines on this box. Those of one snapshot take turns: the kernel has its file system mounted once at most. */
import { readdir } from 'node:fs/promises'
import { errno } from '../../../../shared/errors.ts'
import { keyedMutex } from '../../../../shared/sync.ts'
import type { Listed, Snapshotter } from '../../snapshotter.ts'
import type { Context } from '../context.ts'
import { filesOf } from '../layout.ts'
import { machineIds } from '../list.ts'
import { readMarker } from '../marker.ts'
import { removeDirectory } from '../remove-directory.ts'
import { commitSnapshot, pledgeOf, prepareSnapshot } from './cut.ts'
import { mountSnapshot } from './mount.ts'
import { draftSuffix, placeOf, readManifest, snapshotsDir } from './place.ts'
import { forsake, isLaid, layBeside } from './restore.ts'
import { viewSnapshot } from './view.ts'

export const listSnapshots = async (dataDir: string): Promise<Listed[]> => {
  const names = await readdir(snapshotsDir(dataDir)).catch(error => {
    if (errno(error) === 'ENOENT') return []
    throw error
  })
  const committed = new Set(names.filter(name => !name.endsWith(draftSuffix)))
  const drafts = names.filter(name => name.endsWith(draftSuffix)).map(name => name.slice(0, -draftSuffix.length))
  return [
    ...[...committed].map(id => ({ id, committed: true })),
    ...drafts.filter(id => !committed.has(id)).map(id => ({ id, committed: false })),
  ]
}

export const ociSnapshotter = (context: Context): Snapshotter => {
  const { dataDir, disks, shareBlocks } = context
  const turns = keyedMutex()
  const inTurn = <T>(id: string, task: () => Promise<T>): Promise<T> => turns(id, task)
  return {
    way: shareBlocks ? 'reflink' : 'copy',
    prepare: (id, machine, signal) => inTurn(id, () => prepareSnapshot(context, id, machine, signal)),
    commit: (id, machine, still, signal) => inTurn(id, () => commitSnapshot(context, id, machine, still, signal)),
    usage: async id => (await readManifest(dataDir, id))?.bytes,
    list: () => listSnapshots(dataDir),
    mount: (id, machine, signal) => inTurn(id, () => mountSnapshot(context, id, machine, signal)),
    restore: (id, machine, signal) => inTurn(id, () => layBeside(context, id, machine, signal)),
    laid: async () => (await machineIds(context)).filter(id => isLaid(filesOf(dataDir, id))),
    forsake: machine => forsake(filesOf(dataDir, machine)),
    async origin(machine) {
      const marker = await readMarker(filesOf(dataDir, machine).marker)
      return marker?.ready ? marker.origin : undefined
    },
    view: (id, signal) => inTurn(id, () => viewSnapshot(context, id, signal)),
    remove: id =>
      inTurn(id, async () => {
        const { dir, draft } = placeOf(dataDir, id)
        await removeDirectory(draft)
        await removeDirectory(dir)
        disks.pledges.forget(pledgeOf(id))
      }),
  }
}
