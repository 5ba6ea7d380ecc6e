/** Uploads in parts, loaded with the first request; abandoned uploads expire without one. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../shared/errors.ts'
import type { Bound } from '../../shared/route.ts'
import * as wire from '../../shared/wire/multipart.ts'
import type { Core } from '../core.ts'
import type { FilePort } from '../filesystem/port.ts'
import type { WholeFiles } from '../filesystem/whole/whole.ts'
import { lazyRoutes } from '../lazy-routes.ts'
import type { Paths } from '../paths.ts'
import type { Uploads } from './uploads.ts'

const sweepEveryMs = 3_600_000
const { listUploads, initiateUpload, uploadPart, completeUpload, abortUpload, listParts } = wire

export const createMultipart = (
  core: Core,
  deps: { paths: Paths; port: FilePort; whole: WholeFiles },
): readonly Bound[] => {
  const { config, clock, ids, log, nodeInternals } = core
  const dir = join(config.tmpDir, 'multipart-uploads')
  let opened: Promise<Uploads> | undefined
  const open = (): Promise<Uploads> => {
    opened ??= import('./uploads.ts').then(({ createUploads }) =>
      createUploads({ dir, expiryMs: config.uploadExpiryMs }, { clock, ids, log }),
    )
    return opened
  }
  const sweep = async (): Promise<void> => {
    if (!existsSync(dir)) return
    await (await open()).sweep()
  }
  const stop = clock.every(sweepEveryMs, () => {
    sweep().catch(error => log.warn('multipart.sweep', { reason: messageOf(error) }))
  })
  core.closing.add('multipart', stop)
  return lazyRoutes([listUploads, initiateUpload, uploadPart, completeUpload, abortUpload, listParts], async () => {
    const { multipartRoutes } = await import('./routes.ts')
    return multipartRoutes({ ...deps, uploads: await open(), ids, clock, detacher: nodeInternals.detacher })
  })
}
