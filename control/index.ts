/**
 * Hutch as a library: everything the server can do, without a socket.
 *
 *     const host = await openHost()
 *     const { metadata } = await host.sandboxes.create({ image: 'base' })
 *     const { stdout } = await host.sandboxes.exec(metadata.name, 'uname -a')
 *     await host.close() // sandboxes run on; the next openHost finds them
 */
/// <reference types="node" preserve="true" />
import { systemClock } from '../shared/clock.ts'
import type { Config } from './base/config.ts'
import { fail } from '../shared/errors.ts'
import { randomIds } from '../shared/ids.ts'
import { silentLog } from '../shared/log.ts'
import type { MetricsAnswer } from '../shared/wire/billing.ts'
import { queryMetrics } from './core/metering/metrics.ts'
import type { MetricsQuery } from './core/metering/question.ts'
import { createHost, type Host, type HostDeps } from './host/host.ts'
import { imageLibrary, type ImageLibrary } from './library/images.ts'
import { configOf } from './library/options.ts'
import { sandboxLibrary, type SandboxLibrary } from './library/sandboxes.ts'

export { AppError, isError } from '../shared/errors.ts'
export { createClient, type Client } from '../shared/http/client/index.ts'
export type { Streamed } from '../shared/http/client/calls.ts'
export type { ClientOptions } from '../shared/http/client/context.ts'
export type { CallInput, CallOptions } from '../shared/http/client/input.ts'
export { sandboxRoutes } from '../shared/wire/index.ts'
export type { Config } from './base/config.ts'
export { managementRoutes } from './server/api/management-routes.ts'
export type { DriveMount, MountOptions, SandboxDrives } from './library/drives.ts'
export type { ExecOptions, ExecResult } from './library/exec.ts'
export type { Directory, FileEntry, Files } from './library/files.ts'
export type { ImageLibrary, LibraryImage } from './library/images.ts'
export type { PortRequest, Ports } from './library/ports.ts'
export type { FollowOptions, Processes, StartOptions } from './library/processes.ts'
export type { CreateSandbox, Sandbox, SandboxChange, SandboxLibrary } from './library/sandboxes.ts'
export type { FileChange, WatchOptions } from './library/watch.ts'
export type { Page } from './core/records/listing.ts'

/** Parameters of `GET /v0/accounts/{id}/metrics`; times are RFC 3339 in UTC. */
export type UsageQuery = Pick<MetricsQuery, 'startTime' | 'endTime'> & Partial<MetricsQuery>

export interface Hutch {
  /** Sandboxes of the workspace `default`. */
  readonly sandboxes: SandboxLibrary
  /** The same of another workspace, by name or id. Throws `not_found`. */
  workspace(nameOrId: string): Promise<{ readonly sandboxes: SandboxLibrary }>
  readonly images: ImageLibrary
  /** Cost and usage, as `GET /v0/accounts/{id}/metrics` answers them. */
  usage(query: UsageQuery): Promise<MetricsAnswer>
  /** Also serves the management API and the gateway on the configured port; resolves with the address. */
  listen(): Promise<{ url: string; port: number }>
  /** The key of the first start, for HTTP. */
  readonly adminKey: string
  /** Stops looking after the sandboxes and closes everything; they run on. Calls under way reject. */
  close(): Promise<void>
}

/** Name recorded in createdBy of what the library makes. */
const actorName = 'library'

const libraryOf = (host: Host, config: Config, deps: HostDeps): Hutch => {
  const { verbs, store, runner, first, connections, drives } = host
  let closed: Promise<void> | undefined
  const needOpen = () => {
    if (closed) throw fail('unavailable', { what: 'this host is closed', next: 'open another one' })
  }
  const shared = { verbs: verbs.sandbox, store, hold: runner.hold, connections, ids: deps.ids, drives, needOpen }
  const of = (workspace: string): SandboxLibrary => sandboxLibrary({ workspace, name: actorName, admin: true }, shared)
  return {
    sandboxes: of(first.workspace),
    async workspace(nameOrId) {
      needOpen()
      const found = await store.tenants.workspace(nameOrId)
      if (!found) throw fail('not_found', { kind: 'workspace', name: nameOrId })
      return { sandboxes: of(found.name) }
    },
    images: imageLibrary({ images: host.images, needOpen }),
    async usage(query) {
      needOpen()
      return queryMetrics(
        { store, prices: config.prices, clock: deps.clock, cursors: host.cursors },
        { account: first.account, accountAdmin: true },
        query as MetricsQuery,
      )
    },
    async listen() {
      needOpen()
      return host.listen()
    },
    adminKey: first.adminKey,
    close: () => (closed ??= host.close()),
  }
}

/**
 * Opens a host on this box: finds the sandboxes of an earlier one on the same data directory and looks after them.
 * What `config` leaves out has the defaults of the server; the environment is not read. What it gives is checked as the variables of
 * the server are: throws `invalid_argument` naming the option. One process at a time
 * per data directory; throws `busy` for a second one, and what is missing for a driver that cannot run.
 */
export const openHost = async (config: Partial<Config> = {}, overrides: Partial<HostDeps> = {}): Promise<Hutch> => {
  const whole = configOf(config)
  const deps: HostDeps = { clock: systemClock(), ids: randomIds(), log: silentLog, ...overrides }
  return libraryOf(await createHost(whole, deps), whole, deps)
}
