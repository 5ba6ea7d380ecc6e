/** Sandboxes as a library sees them: the verbs of the management API without HTTP, and what the daemon inside can do. */
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import { parse } from '../../shared/schema.ts'
import type { Actor, Crud } from '../resources/crud.ts'
import type { ListQuery, Page } from '../resources/listing.ts'
import type { Presented } from '../resources/present.ts'
import { bodyOf } from '../resources/body.ts'
import type { Owner, Store } from '../store/store.ts'
import type { DaemonCall } from './daemon.ts'
import { exec, type ExecOptions, type ExecResult } from './exec.ts'
import { files, type Files } from './files.ts'

export interface CreateSandbox {
  /** Given by the host when absent. */
  readonly name?: string
  readonly image?: string
  readonly memoryMb?: number
  readonly env?: Readonly<Record<string, string>>
  /** Variables whose values are sealed in the store and masked in every answer. */
  readonly secrets?: Readonly<Record<string, string>>
  /** Longest life, as `30m`, `24h`, `7d`. */
  readonly ttl?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly externalId?: string
  readonly displayName?: string
  /** Anything else of the spec as on the wire (ports, lifecycle, network, …); the members above win. */
  readonly spec?: { readonly runtime?: object; readonly [more: string]: unknown }
  /** Answers the one there is instead of failing with `already_exists`. */
  readonly ifMissing?: boolean
}

export interface SandboxLibrary {
  /** Resolves when it is recorded; `exec` and `files` wait until it is up. */
  create(options?: CreateSandbox): Promise<Presented>
  /** Throws `not_found`. */
  get(name: string): Promise<Presented>
  list(query?: ListQuery): Promise<Page>
  /** A full update as on the wire: absent members keep their value, `network` is replaced. */
  update(name: string, change: { metadata?: object; spec?: object }): Promise<Presented>
  exec(name: string, command: string | ExecOptions): Promise<ExecResult>
  files(name: string): Files
  delete(name: string): Promise<Presented>
}

const bodyFrom = (options: CreateSandbox) => {
  const { name, image, memoryMb, env = {}, secrets = {}, ttl, labels, externalId, displayName, spec } = options
  const envs = [
    ...Object.entries(env).map(([key, value]) => ({ name: key, value })),
    ...Object.entries(secrets).map(([key, value]) => ({ name: key, value, secret: true })),
  ]
  const runtime = { ...spec?.runtime, ...dense({ image, memory: memoryMb, ttl }), ...(envs.length > 0 ? { envs } : {}) }
  return { metadata: dense({ name, labels, externalId, displayName }), spec: { ...spec, runtime } }
}

const dense = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))

export const sandboxLibrary = (
  actor: Actor,
  deps: { verbs: Crud; store: Store; call: DaemonCall; ids: Ids },
): SandboxLibrary => {
  const { verbs, store, call, ids } = deps
  const body = bodyOf(verbs.kind)
  const ownerOf = async (name: string): Promise<Owner> => {
    const key = { kind: verbs.kind.kind, workspace: actor.workspace, parent: '', name }
    const record = await store.resources.get(key)
    if (!record) throw fail('not_found', { kind: key.kind, name })
    return { ...key, uid: record.uid }
  }
  return {
    create: async (options = {}) =>
      verbs.create(actor, parse(body, bodyFrom(options), 'config'), { createIfNotExist: options.ifMissing ?? false }),
    get: name => verbs.get(actor, name),
    list: (query = {}) => verbs.list(actor, query),
    update: async (name, change) => verbs.update(actor, name, parse(body, change, 'config')),
    exec: async (name, command) =>
      exec(await ownerOf(name), typeof command === 'string' ? { command } : command, { call, ids }),
    files: name => files(() => ownerOf(name), { call }),
    delete: async name => (await verbs.remove(actor, name)).answered,
  }
}
