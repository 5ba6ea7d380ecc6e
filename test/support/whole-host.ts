/** A whole host in this process: real store, real images, real gateway; machines of the fake driver unless told otherwise. */
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { loadConfig, type Config } from '../../control/base/config.ts'
import { fakeDriver, fakeWorld, type FakeOptions, type FakeWorld } from '../../control/drivers/fake/index.ts'
import type { Driver } from '../../control/drivers/driver.ts'
import { createHost, type Host } from '../../control/host/host.ts'
import type { Server } from '../../control/host/server.ts'
import { systemClock, type Clock } from '../../shared/clock.ts'
import { call, type Answer } from './call.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog, type Log } from '../../shared/log.ts'

export interface HostOptions {
  readonly config?: Partial<Config>
  readonly clock?: Clock
  readonly log?: Log
  readonly faults?: FakeOptions['faults']
  readonly serve?: FakeOptions['serve']
  /** A box that an earlier host left. */
  readonly world?: FakeWorld
  readonly driver?: Driver
  /** Machines that it keeps ahead of need unasked. */
  readonly genericMachines?: number
  /** Drivers beside it, which machines of an earlier host may have. */
  readonly others?: readonly Driver[]
}

export interface TestHost {
  readonly host: Host & Pick<Server, 'api'>
  readonly world: FakeWorld
  readonly dataDir: string
  readonly config: Config
  /** Calls `/v0{target}` as the admin at the newest version. */
  readonly api: (method: string, target: string, body?: unknown) => Promise<Answer>
  /** Polls a sandbox until it has the status, and returns its record. Throws after a minute. */
  readonly until: (name: string, status: string) => Promise<Answer['body']>
  close(): Promise<void>
}

export const repository = fileURLToPath(new URL('../..', import.meta.url))

/** Another host on the same directory and world is what a restart is. */
export const openTestHost = async (t: Test, dataDir: string, options: HostOptions = {}): Promise<TestHost> => {
  const world = options.world ?? fakeWorld()
  const config: Config = { ...loadConfig({}, repository), dataDir, port: 0, driver: 'fake', ...options.config }
  const driver =
    options.driver ??
    fakeDriver({
      world,
      ...(options.faults ? { faults: options.faults } : {}),
      ...(options.serve ? { serve: options.serve } : {}),
    })
  const host = await createHost(config, {
    clock: options.clock ?? systemClock(),
    ids: randomIds(),
    log: options.log ?? silentLog,
    drivers: [driver, ...(options.others ?? [])],
    genericMachines: options.genericMachines ?? 0,
  })
  t.teardown(() => host.close())
  const server = await host.server()
  const api: TestHost['api'] = (method, target, body) =>
    call(server.api, method, `/v0${target}`, {
      body,
      headers: { authorization: `Bearer ${host.first.adminKey}`, 'svc-version': '2026-04-28' },
    })
  return {
    host: { ...host, api: server.api },
    world,
    dataDir,
    config,
    api,
    async until(name, status) {
      for (const end = performance.now() + 60_000; ; ) {
        const { body } = await api('GET', `/sandboxes/${name}`)
        if (body.status === status) return body
        if (performance.now() > end)
          throw new Error(`sandbox ${name} is ${body.status}, not ${status}: ${JSON.stringify(body)}`)
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    },
    close: host.close,
  }
}

export const testHost = (t: Test, options: HostOptions = {}): Promise<TestHost> => openTestHost(t, t.testdir(), options)
