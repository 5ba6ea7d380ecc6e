/**
 * Hutch as a library: everything the server can do, without a socket. The engine is loaded by `openHost`, and what listens by
 * `listen`.
 *
 *     const host = await openHost()
 *     const { metadata } = await host.sandboxes.create({ image: 'base' })
 *     const { stdout } = await host.sandboxes.exec(metadata.name, 'uname -a')
 *     await host.close() // sandboxes run on; the next openHost finds them
 */
/// <reference types="node" preserve="true" />
import type { Config } from './base/config.ts'
import type { Hutch } from './host/open.ts'
import type { HostDeps } from './host/parts.ts'

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
export type { Hutch, UsageQuery } from './host/open.ts'
export type { Page } from './core/records/listing.ts'

/**
 * Opens a host on this box: finds the sandboxes of an earlier one on the same data directory and looks after them.
 * What `config` leaves out has the defaults of the server; the environment is not read. What it gives is checked as the variables of
 * the server are: throws `invalid_argument` naming the option. One process at a time
 * per data directory; throws `busy` for a second one, and what is missing for a driver that cannot run.
 */
export const openHost = async (config: Partial<Config> = {}, overrides: Partial<HostDeps> = {}): Promise<Hutch> =>
  (await import('./host/open.ts')).open(config, overrides)
