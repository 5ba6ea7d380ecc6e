/** Capabilities that few sandboxes use: their routes are declared at once, their code is loaded with the first call. */
import type { Bound, Route } from '../shared/route.ts'
import { fastApply, reranking } from '../shared/wire/codegen.ts'
import { listMounts, mountDrive, unmountDrive } from '../shared/wire/drives.ts'
import { mcpWire } from '../shared/wire/mcp.ts'
import { swaggerFile, swaggerRoot } from '../shared/wire/swagger.ts'
import { terminalWire } from '../shared/wire/terminal.ts'
import { configureTunnel, stopTunnel } from '../shared/wire/tunnel.ts'
import type { Core } from './core.ts'
import type { Filesystem } from './filesystem/index.ts'
import { late } from './lazy-routes.ts'
import { portsReady } from './network/ready.ts'
import type { Supervisor } from './process/index.ts'

export interface RareDeps {
  readonly core: Core
  readonly filesystem: Filesystem
  readonly supervisor: Supervisor
  /** The tunnel's routes; it may be loaded before the first call. */
  readonly tunnel: () => Promise<readonly Bound[]>
  readonly terminals: () => Promise<readonly Bound[]>
  /** All routes of the daemon, for the documentation. */
  readonly routes: () => readonly Route[]
}

const loadMcp = async ({ core, filesystem: { files }, supervisor }: RareDeps): Promise<Bound[]> => {
  const [{ mcpRoutes }, { codegenTools }, { selectProvider }] = await Promise.all([
    import('./mcp/routes.ts'),
    import('./codegen/tools.ts'),
    import('./codegen/select.ts'),
  ])
  const { clock, config } = core
  const { workdir, logs, codegen } = config
  const more = codegenTools({ files, workdir, provider: selectProvider(codegen) })
  return mcpRoutes({ clock, files, workdir, supervisor, portsReady, tailBytes: logs.inMemoryBytes, more })
}

const loadCodegen = async ({ core, filesystem }: RareDeps): Promise<Bound[]> => {
  const [{ codegenRoutes }, { selectProvider }] = await Promise.all([
    import('./codegen/routes.ts'),
    import('./codegen/select.ts'),
  ])
  return codegenRoutes({ ...filesystem, provider: selectProvider(core.config.codegen) })
}

/** Plain `import()` of a path, so that the bundler makes each a piece of its own. */
export const rareRoutes = (deps: RareDeps): Bound[] => {
  const { core, routes } = deps
  const { config } = core
  return [
    ...late([swaggerRoot, swaggerFile], async () =>
      (await import('./swagger/routes.ts')).swaggerRoutes(config, routes),
    ),
    ...late(terminalWire, deps.terminals),
    ...late(mcpWire, () => loadMcp(deps)),
    ...late([fastApply, reranking], () => loadCodegen(deps)),
    ...late([listMounts, mountDrive, unmountDrive], async () => (await import('./drives/routes.ts')).driveRoutes(core)),
    ...late([configureTunnel, stopTunnel], deps.tunnel),
  ]
}
