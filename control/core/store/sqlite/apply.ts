/** Runs lists of writes, each list in one transaction. */
import { fail } from '../../../../shared/errors.ts'
import type { Instance, Key, Metered, Resource, ResourceEvent, Transactions, Write } from '../store.ts'
import type { Auditing } from './audit.ts'
import type { Claims } from './claims.ts'
import { toApiKeyRow, type KeyWriting } from './keys.ts'
import type { Memberships } from './memberships.ts'
import type { ChangePeople } from './people-changes.ts'
import type { Prepare } from './prepared.ts'
import type { Quotas } from './quotas.ts'
import type { Recorder } from './recorder.ts'
import { readEach } from './read-json.ts'
import { usersNamed, type References } from './references.ts'
import type { Remembered } from './remembered.ts'
import type { ScheduleWriting } from './schedules.ts'
import { toInstance, toInstanceRow, toOutline, toResource, toRow } from './rows.ts'
import type { ResourceRow } from './tables.ts'
import { isDuplicate, type Transact } from './transact.ts'
import type { WorkspaceRows } from './workspaces.ts'
import { writing, type Writing } from './writing.ts'

export interface ApplyParts {
  readonly prepare: Prepare
  readonly transact: Transact
  readonly recorder: Recorder
  readonly references: References
  readonly claims: Claims
  readonly quotas: Quotas
  readonly keys: KeyWriting
  readonly memberships: Memberships
  readonly changePeople: ChangePeople
  readonly workspaces: Pick<WorkspaceRows, 'needLive' | 'remove'>
  readonly auditing: Pick<Auditing, 'add'>
  readonly schedules: Pick<ScheduleWriting, 'add' | 'end' | 'forget'>
  /** Answers about keys and workspaces, forgotten when a key comes or goes. */
  readonly memory: Remembered
  /** What is remembered of instances. */
  readonly ofMachines: Remembered
  /** What is remembered of records and their events. */
  readonly ofRecords: Remembered
}

interface Context extends ApplyParts {
  readonly run: Writing
  readonly now: number
  readonly resources: Resource[]
  readonly instances: Instance[]
  readonly removed: (Key & { uid: string })[]
}

type Steps = { readonly [T in Write['type']]: (context: Context, write: Extract<Write, { type: T }>) => void }

/** The row as it is; throws `changed_meanwhile` when it has moved on or is gone. */
const rowAt = ({ run }: Context, uid: string, version: number): ResourceRow => {
  const row = run.byUid.get({ uid })
  if (row?.version !== version)
    throw fail('changed_meanwhile', { kind: row?.kind ?? 'resource', name: row?.name ?? uid })
  return row
}

const instanceAt = ({ run }: Context, id: string, version: number): Instance => {
  const row = run.instance.get({ id })
  if (row?.version !== version) throw fail('changed_meanwhile', { kind: 'instance', name: id })
  return toInstance(row)
}

/** A row that is to be there once; `name` is what an error calls it. */
const adding = (kind: string, name: string, add: () => unknown): void => {
  try {
    add()
  } catch (error) {
    if (isDuplicate(error)) throw fail('already_exists', { kind, name }, error)
    throw error
  }
}

const addEvent = ({ run }: Context, uid: string, event: ResourceEvent | undefined): void => {
  if (event)
    run.addEvent.run({ ...event, uid, revision: event.revision ?? null, canaryRevision: event.canaryRevision ?? null })
}

const meter = ({ recorder, now }: Context, { id, owner }: Instance, metered: Metered | undefined): void => {
  const { kind, workspace, name } = owner
  if (metered) recorder.replace({ uid: id, kind, workspace, name }, metered, now)
}

const meterRecord = ({ recorder, now }: Context, record: Resource, metered: Metered | undefined): void => {
  const { uid, kind, workspace, name } = record
  if (metered) recorder.replace({ uid, kind, workspace, name }, metered, now)
}

/** Its machines, if any are left, are nobody's now and cost nobody anything. */
const erase = (context: Context, resource: Key & { uid: string }): void => {
  const { run, references, claims, keys, memberships, memory, recorder, removed, now } = context
  const { uid, kind, workspace, parent, name } = resource
  run.remove.run({ uid })
  references.forget(uid)
  claims.forget(uid)
  memberships.forget(uid)
  context.schedules.forget(uid)
  if (keys.removeOf.run({ owner: uid }) > 0) memory.forget()
  recorder.close(uid, now)
  for (const { id } of run.instancesOf.all({ owner: uid })) recorder.close(id, now)
  removed.push({ uid, kind, workspace, parent, name })
}

/** What lives inside a resource, at any depth. */
const inside = (
  { run }: Context,
  { workspace, path, kinds }: Extract<Write, { type: 'removeInside' | 'nothingInside' }>,
) => {
  const given = { workspace, path, kinds: JSON.stringify(kinds) }
  return [...run.children.all(given), ...run.deeper.all(given)]
}

const steps: Steps = {
  create(context, { resource, within, references = [], claims = [], credential, membership, event, metered }) {
    context.workspaces.needLive(resource.workspace)
    if (within) context.references.needParent(within)
    adding(resource.kind, resource.name, () => context.run.insert.run(toRow(resource)))
    context.references.replace(resource, references)
    context.claims.replace(resource, claims)
    if (credential) {
      context.memory.forget()
      context.keys.add.run(toApiKeyRow(credential))
    }
    if (membership) context.memberships.replace(resource, membership)
    addEvent(context, resource.uid, event)
    meterRecord(context, resource, metered)
    context.resources.push(resource)
  },
  update(context, { uid, version, instead, change, references, claims, membership, unlessReferenced, event, metered }) {
    const row = rowAt(context, uid, version)
    const before = instead ?? toResource(row)
    const after: Resource = {
      ...before,
      version: version + 1,
      status: change.status ?? before.status,
      metadata: change.metadata ?? before.metadata,
      spec: change.spec ?? before.spec,
      internal: change.internal ?? before.internal,
      updatedAt: context.now,
    }
    context.run.update.run(toRow(after))
    if (references) context.references.replace(after, references)
    if (claims) context.claims.replace(after, claims)
    if (membership) context.memberships.replace(after, membership)
    if (unlessReferenced) context.references.needUnused(after)
    addEvent(context, uid, event)
    meterRecord(context, after, metered)
    context.resources.push(after)
  },
  remove(context, { uid, version, unlessReferenced }) {
    // What it says may be what cannot be read.
    const outline = toOutline(rowAt(context, uid, version))
    erase(context, outline)
    if (unlessReferenced) context.references.needUnused(outline)
  },
  removeInside(context, write) {
    for (const one of inside(context, write)) erase(context, one)
  },
  nothingInside(context, write) {
    const { kind, name } = write
    const found = inside(context, write)
    if (found.length === 0) return
    const users = found.slice(0, usersNamed).map(one => `${one.kind} "${one.name}"`)
    throw fail('in_use', { kind, name, users, more: found.length - users.length })
  },
  atMost({ quotas }, write) {
    quotas.need(write)
  },
  expect(context, { uid, version }) {
    rowAt(context, uid, version)
  },
  addInstance(context, { instance, metered }) {
    context.ofMachines.forget()
    adding('instance', instance.id, () => context.run.insertInstance.run(toInstanceRow(instance)))
    meter(context, instance, metered)
    context.instances.push(instance)
  },
  updateInstance(context, { id, version, change, metered }) {
    context.ofMachines.forget()
    const before = instanceAt(context, id, version)
    const row = toInstanceRow({ ...before, ...(change as Partial<Instance>), version: version + 1 })
    context.run.updateInstance.run(row)
    const after = toInstance(row)
    meter(context, after, metered)
    context.instances.push(after)
  },
  identity({ changePeople, now }, { change }) {
    changePeople(change, now)
  },
  audit({ auditing, now }, { entry }) {
    auditing.add(entry, now)
  },
  addScheduleRun({ schedules }, { run, keep }) {
    schedules.add(run, keep)
  },
  endScheduleRun({ schedules }, { id, result }) {
    schedules.end(id, result)
  },
  removeInstance(context, { id, version }) {
    context.ofMachines.forget()
    instanceAt(context, id, version)
    context.run.removeInstance.run({ id })
    context.recorder.close(id, context.now)
  },
  mendInstances(context, { owner, status }) {
    context.ofMachines.forget()
    const { run, recorder, now, instances } = context
    readEach(run.instancesOf.all({ owner }), toInstance, row => {
      const mended = { ...row, status, version: row.version + 1, address: null, image: null, errors: '[]', body: '{}' }
      run.updateInstance.run(mended)
      recorder.close(row.id, now)
      instances.push(toInstance(mended))
    })
  },
  removeWorkspace(context, { name }) {
    context.memory.forget()
    for (const resource of context.workspaces.remove(name, context.now)) erase(context, resource)
  },
}

export const sqliteApply = (parts: ApplyParts): Transactions['apply'] => {
  const { prepare, transact } = parts
  const run = writing(prepare)
  return (writes, now) =>
    transact.write(() => {
      // Nobody looks between here and the commit: a transaction runs in one go.
      parts.ofRecords.forget()
      const context: Context = { ...parts, run, now, resources: [], instances: [], removed: [] }
      for (const write of writes) (steps[write.type] as (context: Context, write: Write) => void)(context, write)
      const { resources, instances, removed } = context
      return { resources, instances, removed }
    })
}
