import { isError, messageOf } from '../../shared/errors.ts'
import { parseJson, bodyOf } from '../../shared/http/body.ts'
import { handle, type Bound } from '../../shared/route.ts'
import * as wire from '../../shared/wire/system.ts'
import { buildInfo } from '../build.ts'
import type { Core } from '../core.ts'
import { createHealthReport } from './health.ts'
import { reloadFrom } from './reload.ts'
import { channelOf } from '../upgrade/bundles.ts'
import { releaseOf } from '../upgrade/release.ts'
import type { Upgrades } from '../upgrade/upgrade.ts'

const welcome = {
  message: 'Welcome to the sandbox API',
  documentation: '/swagger/index.html',
  description: 'Files, processes, terminals and networking of this sandbox over HTTP',
}

const maxRequestBytes = 64 * 1024

export const systemRoutes = (core: Core, upgrades: Upgrades): Bound[] => {
  const { clock, config, environment, hostConfiguration, log } = core
  const { upgradeCount, releasesUrl, releasesDir } = config
  const { begun } = hostConfiguration
  const health = createHealthReport({ clock, build: buildInfo, upgradeCount, lastUpgrade: upgrades.last, begun })
  const fails = handle(wire.panic, () => {
    throw new Error('asked to fail')
  })
  return [
    ...(config.platformEnv === 'dev' ? [fails] : []),
    ...wire.welcomes.map(route => handle(route, () => welcome)),
    handle(wire.health, health),
    handle(wire.reloadEnvironment, () => reloadFrom(config.metadataPaths, environment)),
    handle(wire.upgrade, async (_input, { request }) => {
      const asked = await bodyOf(request, maxRequestBytes)
        .then(parseJson)
        .catch(error => {
          // Callers send no body, or one for another daemon; both mean "the latest".
          if (!isError(error)) throw error
          log.info('upgrade.body-ignored', { reason: messageOf(error) })
        })
      const release = releaseOf(asked, releasesUrl || channelOf(releasesDir))
      upgrades.start(release)
      return { message: 'Upgrade initiated; GET /health tells how it goes', ...release }
    }),
  ]
}
