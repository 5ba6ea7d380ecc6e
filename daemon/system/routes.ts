import { handle, type Bound } from '../../shared/route.ts'
import * as wire from '../../shared/wire/system.ts'
import { buildInfo } from '../build.ts'
import type { Core } from '../core.ts'
import { healthReport } from './health.ts'
import { reloadFrom } from './reload.ts'

const welcome = {
  message: 'Welcome to the sandbox API',
  documentation: '/swagger/index.html',
  description: 'Files, processes, terminals and networking of this sandbox over HTTP',
}

export const systemRoutes = (core: Core): Bound[] => {
  const { clock, config, environment } = core
  const health = healthReport({
    clock,
    build: buildInfo,
    upgradeCount: config.upgradeCount,
    lastUpgrade: () => ({ status: 'idle', step: 'none', version: '' }),
  })
  return [
    ...wire.welcomes.map(route => handle(route, () => welcome)),
    handle(wire.health, health),
    handle(wire.reloadEnvironment, () => reloadFrom(config.metadataPath, environment)),
  ]
}
