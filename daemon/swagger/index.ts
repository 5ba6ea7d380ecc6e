/** The API's own documentation, loaded with the first request for it. */
import type { Bound, Route } from '../../shared/route.ts'
import { swaggerFile, swaggerRoot } from '../../shared/wire/swagger.ts'
import type { Core } from '../core.ts'
import { lazyRoutes } from '../lazy-routes.ts'

/** `routes` gives the routes to document; it is called with each request. */
export const createSwagger = (
  core: Pick<Core, 'config' | 'hostConfiguration'>,
  routes: () => readonly Route[],
): readonly Bound[] =>
  lazyRoutes([swaggerRoot, swaggerFile], async () => (await import('./routes.ts')).swaggerRoutes(core, routes))
