/** HEAD on these paths answers 200 and looks nothing up: clients ask it whether a daemon knows the route. */
import { reply, route, handle, type Bound } from '../route.ts'

const paths = [
  '/filesystem/*path',
  '/filesystem-find/*path',
  '/filesystem-search/*path',
  '/filesystem-content-search/*path',
  '/watch/filesystem/*path',
  '/filesystem-multipart',
  '/filesystem-multipart/:uploadId/parts',
  '/process',
  '/process/:identifier',
  '/process/:identifier/logs',
  '/process/:identifier/logs/stream',
  '/network/process/:pid/ports',
  '/codegen/reranking/*path',
  '/terminal',
  '/terminal/ws',
  '/upgrade',
  '/health',
  '/drives/mount',
] as const

/** The HEAD routes, bound. */
export const probes = (): Bound[] =>
  paths.map(path =>
    handle(
      route(`HEAD ${path}`, { id: `probe.${path}`, summary: `Says that ${path} is a route`, family: 'probe' }),
      () => reply(200),
    ),
  )
