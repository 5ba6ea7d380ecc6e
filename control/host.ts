/**
 * Composition root of the host: everything is made here, once, from configuration and the outside world, and closed
 * in reverse. Sandboxes outlive it: the next start finds and adopts them.
 */
import { join } from 'node:path'
import type { Clock } from '../shared/clock.ts'
import { closing } from '../shared/closing.ts'
import { isError } from '../shared/errors.ts'
import { listen } from '../shared/http/server.ts'
import type { Ids } from '../shared/ids.ts'
import type { Log } from '../shared/log.ts'
import { createCursors, cursorKey, type Cursors } from './api/cursors.ts'
import { createApi, type Api } from './api/index.ts'
import { wireNames } from './api/wire-names.ts'
import { billingRoutes } from './billing/routes.ts'
import { bootstrap, type Bootstrap } from './bootstrap.ts'
import type { Config } from './config.ts'
import { prepareDataDir } from './data-dir.ts'
import { openDriver } from './drivers/index.ts'
import type { Driver } from './drivers/driver.ts'
import { openDrives } from './drives/open.ts'
import { frontServer } from './front.ts'
import { forwarder } from './gateway/forward.ts'
import { gateway } from './gateway/gateway.ts'
import { resolver, type Resolver } from './gateway/resolve.ts'
import { defaultImage } from './images/default.ts'
import { createImages, type Images } from './images/images.ts'
import { listenFailure, publicUrlOf } from './listening.ts'
import { claimDataDir } from './one-host.ts'
import { resourceKinds } from './resources/index.ts'
import { prepareRuntime } from './runtime/prepare.ts'
import { planner } from './sandboxes/plan.ts'
import { sandboxes, type Sandboxes } from './sandboxes/sandboxes.ts'
import { sandboxUrl } from './sandboxes/url.ts'
import { createSealer, sealingKey } from './secrets.ts'
import { openStore } from './store/sqlite/open.ts'
import type { Store, Workspace } from './store/store.ts'

export interface HostDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Instead of the one the configuration names; for tests. */
  readonly driver?: Driver
}

export interface Host {
  readonly api: Api
  readonly store: Store
  readonly driver: Driver
  readonly images: Images
  readonly sandboxes: Sandboxes
  readonly resolver: Resolver
  readonly cursors: Cursors
  readonly first: Bootstrap
  /** Serves management API and gateway on one port; resolves with the address. */
  listen(): Promise<{ url: string; port: number }>
  /** Stops serving and looking after; sandboxes run on. */
  close(): Promise<void>
}

/** How much a crash can lose of the bill, ms. */
const checkpointEveryMs = 60_000

const reaches = (key: { account: string; workspace: string | null }, workspace: Workspace): boolean =>
  key.account === workspace.account && (!key.workspace || [workspace.id, workspace.name].includes(key.workspace))

/** Opens everything; a failure half-way closes what was opened. Throws what says which part is missing and what to do. */
export const createHost = async (config: Config, deps: HostDeps): Promise<Host> => {
  const { clock, ids, log } = deps
  const closer = closing({ log, boundMs: 30_000 })
  try {
    const realDataDir = await prepareDataDir(config.dataDir, log)
    closer.add('data directory', await claimDataDir(realDataDir))
    await prepareRuntime(config, { log, clock })
    const store = await openStore({ path: join(config.dataDir, 'hutch.db') }, { log })
    closer.add('store', store.close)
    const first = await bootstrap(config, { store, clock, ids })
    const names = wireNames(config.wireNames)
    const sealer = createSealer(await sealingKey(config.dataDir, ids))
    const cursors = createCursors({ key: await cursorKey(config.dataDir, ids), clock })
    const images = await createImages(config, { ids, log, clock })
    const driver = deps.driver ?? (await openDriver(config, { log, clock }))
    closer.add('driver', driver.close)
    const answers = await openDrives(config, { driver, clock, ids, log })
    const forward = forwarder()
    closer.add('forwarder', forward.close)
    const plan = planner({
      images,
      sealer,
      names,
      store,
      wireNames: config.wireNames.map(({ header, short, image }) => `${header}:${short}:${image}`).join(','),
    })
    const boxes = sandboxes(config, { store, driver, clock, log, closing: closer, plan, onDown: forward.forget })
    const kinds = resourceKinds({
      images,
      sealer,
      regions: config.regions,
      defaultImage: () => defaultImage(images, names.imageName('base-image:latest')),
      egressRules: false,
    })
    let publicUrl = publicUrlOf(config, config.port)
    const api = createApi({
      store,
      clock,
      ids,
      log,
      names,
      cursors,
      kinds,
      poke: (kind, uid) => {
        if (kind === 'sandbox') boxes.poke(uid)
      },
      url: row =>
        row.kind === 'sandbox' ? sandboxUrl(row, { publicUrl, sandboxDomain: config.sandboxDomain }) : undefined,
      routes: billingRoutes({ store, clock, cursors, prices: config.prices }),
      logRequests: true,
    })
    const find = resolver({ store, standby: boxes.standby, changes: boxes.changes, poke: boxes.poke })
    const plane = gateway(
      {
        regions: config.regions,
        headerWord: config.wireNames[0]?.header ?? 'Svc',
        credentialHeaders: names.credentialHeaders,
      },
      {
        resolver: find,
        forwarder: forward,
        answers,
        clock,
        ids,
        log,
        admit: async (credential, workspace) => {
          const key = await api.auth.verify(credential)
          return workspace !== undefined && reaches(key, workspace)
        },
      },
    )
    await boxes.start()
    const stopCheckpoints = clock.every(checkpointEveryMs, () => {
      store.meter.checkpoint(clock.now()).catch(error => log.error('checkpoint.failed', { error }))
    })
    closer.add('checkpoints', async () => {
      stopCheckpoints()
      await store.meter.checkpoint(clock.now())
    })
    return {
      api,
      store,
      driver,
      images,
      sandboxes: boxes,
      resolver: find,
      cursors,
      first,
      async listen() {
        const listening = await listen(frontServer({ api: api.dispatcher, gateway: plane, log }), config).catch(
          error => {
            throw listenFailure(error, config)
          },
        )
        closer.add('http', () => listening.close(5_000))
        publicUrl = publicUrlOf(config, listening.port)
        return { url: publicUrl, port: listening.port }
      },
      close: closer.close,
    }
  } catch (error) {
    if (!isError(error)) log.error('host.failed', { error })
    await closer.close()
    throw error
  }
}
