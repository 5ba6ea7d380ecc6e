/** Binds the download and upload of whole directories. */
import { handle, reply, type Bound } from '../../../shared/route.ts'
import * as wire from '../../../shared/wire/filesystem.ts'
import { fail } from '../../../shared/errors.ts'
import type { Paths } from '../../paths.ts'
import { archivePump } from './pack.ts'
import { unpack } from './unpack.ts'
import { attachment } from '../transfer/content-type.ts'
import { nameOf } from '../describe.ts'
import { asNotFound, asUnprocessable } from '../failures.ts'
import type { Owners } from '../owners.ts'
import { isOfKernel } from '../kernel-filesystems.ts'
import type { FilePort } from '../port.ts'
import { discard } from '../transfer/consume.ts'
import type { WholeFiles } from '../whole/whole.ts'

const drainLimit = 64 * 1024 * 1024

export const archiveRoutes = (deps: { port: FilePort; owners: Owners; whole: WholeFiles; paths: Paths }): Bound[] => {
  const { port, owners, paths } = deps
  return [
    handle(wire.readArchive, async ({ params, query }, { request }) => {
      const path = paths.absolute(paths.requested(request.rawPath, params.path))
      try {
        // The start may be a link; links below it are archived as links.
        const real = await port.realpath(path)
        // Sizes there are not those of the contents, and some files cannot be read by anybody: it would end in the middle, or lie.
        if (isOfKernel(real))
          throw fail('unprocessable', { reason: `${path} is the kernel's own (${real}); read its files one by one` })
        const { kind } = await port.stat(real)
        if (kind !== 'directory' && kind !== 'file') throw fail('unprocessable', { reason: `${path} is a ${kind}` })
        if (kind === 'directory') await port.readdir(real)
        const name = nameOf(path) === '/' ? 'root' : nameOf(path)
        return reply(
          200,
          {
            'content-type': query.gzip ? 'application/gzip' : 'application/x-tar',
            'content-disposition': attachment(`${name}.tar${query.gzip ? '.gz' : ''}`),
          },
          archivePump(real, kind, query.gzip, { port, owners }),
        )
      } catch (error) {
        throw asNotFound(path, error, asUnprocessable)
      }
    }),
    handle(wire.writeArchive, async ({ params, query }, { request }) => {
      const requested = paths.requested(request.rawPath, params.path)
      try {
        const { entries, bytes } = await unpack(deps, paths.absolute(requested), request.body, query)
        return { path: requested, message: 'Archive unpacked successfully', entries, bytes }
      } catch (error) {
        await discard(request.body, drainLimit)
        throw asUnprocessable(error)
      }
    }),
  ]
}
