/** Changes of files as streams. */
import type { Bound } from '../../shared/route.ts'
import type { Core } from '../core.ts'
import type { FilePort } from '../filesystem/port.ts'
import type { Paths } from '../paths.ts'
import { createHub } from './hub.ts'
import { watchRoutes } from './routes.ts'

export const createWatch = (
  { clock, identity, closing }: Core,
  { port, paths }: { port: FilePort; paths: Paths },
): readonly Bound[] => {
  const hub = createHub()
  closing.add('watch', hub.close)
  return watchRoutes({ clock, files: port, hub, paths, user: identity })
}
