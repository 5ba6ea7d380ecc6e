/** Files of the sandbox: the routes, and what other rooms use. */
import { join } from 'node:path'
import type { Bound } from '../../shared/route.ts'
import * as wire from '../../shared/wire/filesystem.ts'
import type { Core } from '../core.ts'
import { lazyRoutes } from '../lazy-routes.ts'
import { createPaths, type Paths } from '../paths.ts'
import { createFiles, type Files } from './files.ts'
import { createOwners } from './owners.ts'
import type { FilePort } from './port.ts'
import { createDraftJournal } from './whole/journal.ts'
import { createWholeFiles } from './whole/whole.ts'
import { filesystemRoutes } from './routes.ts'

export interface Filesystem {
  readonly paths: Paths
  readonly files: Files
  readonly bounds: readonly Bound[]
}

/** `port` does what requests ask for, under the identity of the workload. */
export const createFilesystem = (
  { workdir, environment, clock, ids, log, nodeInternals, config }: Core,
  port: FilePort,
): Filesystem => {
  const paths = createPaths({ workdir, home: () => environment.get('HOME') })
  const journal = createDraftJournal({ dir: join(config.stateDir, 'drafts'), log })
  // A rehearsal must not take away what the daemon in charge is writing.
  if (!config.rehearsal) journal.sweep()
  const whole = createWholeFiles({ port, ids, journal, spareDir: config.tmpDir })
  const files = createFiles({ port, owners: createOwners({ clock }), whole })
  return {
    paths,
    files,
    bounds: [
      ...filesystemRoutes({ files, paths, detacher: nodeInternals.detacher, sendFile: nodeInternals.sendFile }),
      ...lazyRoutes([wire.findPaths, wire.searchPaths, wire.searchContent], async () =>
        (await import('./search/routes.ts')).searchRoutes({ port, paths }),
      ),
      ...lazyRoutes([wire.readArchive, wire.writeArchive], async () =>
        (await import('./archive/routes.ts')).archiveRoutes({ port, owners: files.owners, whole, paths }),
      ),
    ],
  }
}
