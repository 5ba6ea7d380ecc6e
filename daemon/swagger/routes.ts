import { fail } from '../../shared/errors.ts'
import { openApi } from '../../shared/http/openapi.ts'
import { handle, json, reply, type Bound, type Route } from '../../shared/route.ts'
import * as wire from '../../shared/wire/swagger.ts'
import { sandboxFamilies, sandboxTexts } from '../../shared/wire/texts.ts'
import { buildInfo } from '../build.ts'
import { mayCall } from '../channel/audience.ts'
import type { Core } from '../core.ts'
import { page } from './page.ts'
import { swagger2, type Where } from '../../shared/http/swagger2.ts'

type Deps = Pick<Core, 'config' | 'hostConfiguration'>

const whereAt = ({ config: { platformEnv }, hostConfiguration }: Deps): Where => {
  const { workspace, name } = hostConfiguration.identity()
  return workspace && name && /^(prod|dev)$/.test(platformEnv)
    ? { basePath: `/${workspace}/sandboxes/${name}`, schemes: ['https'] }
    : { host: 'localhost:8080', basePath: '/', schemes: ['http'] }
}

/** What is for those whom the gateway has let in refuses programs of the sandbox itself. */
const withRefusals = (route: Route): Route =>
  mayCall(route.id, 'tenant') ? route : { ...route, errors: [...route.errors, 'forbidden'] }

/** Documents the routes that `routes()` gives at each request. */
export const swaggerRoutes = (deps: Deps, routes: () => readonly Route[]): Bound[] => {
  const document = (where: Where) =>
    openApi(
      routes()
        .filter(({ id }) => mayCall(id, 'client'))
        .map(withRefusals),
      {
        title: 'Sandbox API',
        version: buildInfo.version,
        description: 'Files, processes, terminals and networking of one sandbox.',
        servers: [where.basePath],
        // The gateway asks for one; a daemon that runs alone does not.
        credential: { headers: ['authorization', ...deps.config.names.header('authorization')], optional: true },
        texts: sandboxTexts,
        families: sandboxFamilies,
        errors: ['invalid_argument'],
      },
    )
  return [
    handle(wire.swaggerRoot, () => reply(301, { location: '/swagger/index.html' })),
    handle(wire.swaggerFile, ({ params: { file } }) => {
      const where = whereAt(deps)
      if (file === '' || file === 'index.html') return reply(200, { 'content-type': 'text/html; charset=utf-8' }, page)
      if (file === 'openapi.json') return json(document(where))
      if (file === 'doc.json') return json(swagger2(document(where), where))
      throw fail('not_found', { kind: 'document', name: file })
    }),
  ]
}
