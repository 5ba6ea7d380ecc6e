/** Sandboxes as a library sees them: the verbs of the management API without HTTP, and what the daemon inside can do. */
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import { parse, type In, type Out } from '../../shared/schema.ts'
import type { Actor, Crud } from '../core/records/crud.ts'
import type { ListQuery, Page } from '../core/records/listing.ts'
import type { Presented } from '../core/records/present.ts'
import { bodyOf } from '../core/records/body.ts'
import type { metadataInput } from '../core/records/metadata.ts'
import type { answers } from '../core/kinds/sandbox/present.ts'
import type { sandboxSpec } from '../core/kinds/sandbox/spec.ts'
import type { Owner, Store } from '../core/store/store.ts'
import type { Connections } from '../core/channel/connections.ts'
import type { MachineDrives } from '../core/storage/drives/machine-drives.ts'
import type { Reach } from '../core/machines/reach.ts'
import type { statuses } from '../core/records/kind.ts'
import { checkMembers } from './check-options.ts'
import { daemonCalls, daemonEvents } from './daemon.ts'
import { sandboxDrives, type SandboxDrives } from './drives.ts'
import { ports, type Ports } from './ports.ts'
import { processes, type Processes } from './processes.ts'
import { watch, type FileChange, type WatchOptions } from './watch.ts'
import { exec, type ExecOptions, type ExecResult } from './exec.ts'
import { files, type Files } from './files.ts'

export interface CreateSandbox {
  /** Given by the host when absent. */
  readonly name?: string
  /** An image of this host, or a reference with its registry. Default `base-image`, which is `base` unless an alias says otherwise. */
  readonly image?: string
  /** MiB, 64 to 262144. Default 4096. */
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
  readonly spec?: SandboxChange['spec']
  /** Answers the one there is instead of failing with `already_exists`. */
  readonly ifMissing?: boolean
}

const memberNames: { readonly [member in keyof Required<CreateSandbox>]: true } = {
  name: true,
  image: true,
  memoryMb: true,
  env: true,
  secrets: true,
  ttl: true,
  labels: true,
  externalId: true,
  displayName: true,
  spec: true,
  ifMissing: true,
}

/** Without the room that an answer leaves for members of other versions: what is misspelt is not there. */
type Known<T> = T extends readonly (infer Item)[]
  ? readonly Known<Item>[]
  : T extends object
    ? { readonly [K in keyof T as string extends K ? (unknown extends T[K] ? never : K) : K]: Known<T[K]> }
    : T

type More = { readonly [K in keyof typeof answers.more]?: Known<Out<(typeof answers.more)[K]>> }

/** A sandbox as the management API answers it. */
export interface Sandbox extends Pick<Presented, 'metadata' | 'events'>, More {
  readonly spec: Known<Out<typeof answers.spec>>
  readonly status: (typeof statuses)[number]
  /** While it is DEPLOYED. */
  readonly state?: 'RUNNING' | 'STANDBY'
}

/** What may be said about one that is there, as on the wire. */
export interface SandboxChange {
  readonly metadata?: In<typeof metadataInput>
  readonly spec?: In<typeof sandboxSpec>
}

export interface SandboxLibrary {
  /** Resolves when it is recorded; `exec` and `files` wait until it is up. */
  create(options?: CreateSandbox): Promise<Sandbox>
  /** Throws `not_found`. */
  get(name: string): Promise<Sandbox>
  list(query?: ListQuery): Promise<Page>
  /** A full update as on the wire: absent members keep their value, `network` is replaced. */
  update(name: string, change: SandboxChange): Promise<Sandbox>
  exec(name: string, command: string | ExecOptions): Promise<ExecResult>
  files(name: string): Files
  processes(name: string): Processes
  ports(name: string): Ports
  drives(name: string): SandboxDrives
  watch(name: string, path: string, options?: WatchOptions): AsyncIterable<FileChange>
  /** Ends all that runs in it and starts it anew with its files; calls wait meanwhile. */
  restart(name: string): Promise<Sandbox>
  delete(name: string): Promise<Sandbox>
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

export interface LibraryDeps extends Pick<Reach, 'hold'> {
  readonly verbs: Crud
  readonly store: Store
  readonly connections: Connections
  readonly ids: Ids
  /** Undefined when the host has none. */
  readonly drives: MachineDrives | undefined
  /** Throws when the host is closed. */
  readonly needOpen: () => void
}

/** What is done to records. */
const onRecords = (actor: Actor, { verbs, needOpen }: LibraryDeps) => {
  const body = bodyOf(verbs.kind)
  const { kind } = verbs
  const restarting = kind.actions.find(({ name }) => name === 'restart')
  const answered = async (answer: () => Promise<unknown>): Promise<Sandbox> => {
    needOpen()
    return (await answer()) as Sandbox
  }
  return {
    create: (options: CreateSandbox = {}) =>
      answered(async () => {
        checkMembers(options, Object.keys(memberNames))
        const createIfNotExist = options.ifMissing ?? false
        return verbs.create(actor, parse(body, bodyFrom(options), 'config'), { createIfNotExist })
      }),
    get: (name: string) => answered(() => verbs.get(actor, name)),
    list: async (query: ListQuery = {}) => {
      needOpen()
      return verbs.list(actor, query)
    },
    update: (name: string, change: SandboxChange) =>
      answered(async () => verbs.update(actor, name, parse(body, change, 'config'))),
    restart: (name: string) =>
      answered(async () => {
        if (!restarting) throw new Error(`${kind.kind} cannot be restarted`)
        return verbs.act(restarting, { actor, params: {}, body: undefined }, {}, name)
      }),
    delete: (name: string) => answered(async () => (await verbs.remove(actor, name)).answered),
  }
}

export const sandboxLibrary = (actor: Actor, deps: LibraryDeps): SandboxLibrary => {
  const { verbs, store, ids, needOpen } = deps
  const call = daemonCalls(deps)
  const events = daemonEvents(deps)
  const ownerOf = async (name: string): Promise<Owner> => {
    needOpen()
    const key = { kind: verbs.kind.kind, workspace: actor.workspace, parent: '', name }
    const record = await store.resources.get(key)
    if (!record) throw fail('not_found', { kind: key.kind, name })
    return { ...key, uid: record.uid }
  }
  const of = (name: string) => () => ownerOf(name)
  return {
    ...onRecords(actor, deps),
    exec: async (name, command) =>
      exec(await ownerOf(name), typeof command === 'string' ? { command } : command, { call, ids }),
    files: name => files(of(name), { call }),
    processes: name => processes(of(name), { call, events }),
    ports: name => ports(of(name), { ...deps, call }),
    drives: name => sandboxDrives(of(name), deps),
    watch: (name, path, options = {}) => watch(of(name), [path, options], events),
  }
}
