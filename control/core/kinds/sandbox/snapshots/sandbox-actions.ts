/** What can be done with the snapshots of one sandbox: `/v0/sandboxes/{name}/snapshots` and `/fork`. */
import { fail } from '../../../../../shared/errors.ts'
import { reply } from '../../../../../shared/route.ts'
import { parse, s, text } from '../../../../../shared/schema.ts'
import type { Action, Asked } from '../../../records/action.ts'
import { bodyOf } from '../../../records/body.ts'
import { find, presenting, type Context } from '../../../records/context.ts'
import { create } from '../../../records/create.ts'
import { present, rendered, type Presented } from '../../../records/present.ts'
import { remove } from '../../../records/remove.ts'
import type { Position, Resource } from '../../../store/store.ts'
import { fork, forKind, forkAnswer, forkBody, forkFrom, needFree } from './fork.ts'
import { forkErrors } from './fork-action.ts'
import type { SnapshotService } from './service.ts'
import { storedSnapshot } from './stored.ts'
import { mode, snapshotAnswer } from './wire.ts'

type Service = (() => SnapshotService) | undefined

const needed = (service: Service): SnapshotService => {
  if (!service) throw fail('not_available', { what: 'snapshots' })
  return service()
}

const sandboxOf = ({ found }: Asked): Resource => {
  if (!found) throw new Error('asked of a sandbox')
  return found.record
}

/** Saves the sandbox; resolves with the record of the snapshot. */
const take = async (
  context: Context,
  asked: Asked,
  body: object,
): Promise<{ record: Resource; answered: Presented }> => {
  const snapshots = forKind(context, 'snapshot')
  const given = { ...body, source: { name: sandboxOf(asked).name } }
  const answered = await create(snapshots, asked.actor, parse(bodyOf(snapshots.kind), given, 'body'))
  return { record: (await find(snapshots, asked.actor, String(answered['id']), {})).record, answered }
}

/** Of the sandbox, newest first. */
const ofSandbox = async (context: Context, sandbox: Resource): Promise<Resource[]> => {
  const found: Resource[] = []
  for (let after: Position | undefined; ; ) {
    const asked = { kind: 'snapshot', workspace: sandbox.workspace, sort: 'createdAt:desc', limit: 1000 } as const
    const page = await context.store.resources.list({ ...asked, ...(after ? { after } : {}) })
    found.push(...page.items.filter(one => storedSnapshot(one).source.uid === sandbox.uid))
    if (!page.hasMore || !page.last) return found
    after = page.last
  }
}

/** A snapshot of the workspace by id or name. Throws `not_found`, also for one of another sandbox where that is asked. */
const named = async (context: Context, asked: Asked, name: string, own: boolean): Promise<Resource> => {
  const { record } = await find(forKind(context, 'snapshot'), asked.actor, name, {})
  if (own && storedSnapshot(record).source.uid !== sandboxOf(asked).uid)
    throw fail('not_found', { kind: 'snapshot', name })
  return record
}

const idIn = ({ params }: Asked): string => params['snapshotId'] ?? ''

const listing = (service: Service): Action => ({
  name: 'snapshots.get',
  summary: 'Lists the snapshots of a sandbox, newest first',
  method: 'GET',
  path: 'snapshots',
  on: 'record',
  access: { scope: 'sandboxes:list', role: 'member' },
  returns: s.array(snapshotAnswer),
  errors: ['not_available'],
  async run(context, asked) {
    needed(service)
    const snapshots = forKind(context, 'snapshot')
    const all = await ofSandbox(context, sandboxOf(asked))
    return all.map(record => {
      const found = { record, instances: [] }
      return rendered(snapshots.kind, present(snapshots.kind, found, presenting(snapshots, record, false)), found)
    })
  },
})

const taking = (service: Service): Action => ({
  name: 'snapshots.post',
  summary: 'Saves the files of a sandbox; the answer says how long it stood still',
  method: 'POST',
  path: 'snapshots',
  on: 'record',
  access: { scope: 'sandboxes:update', role: 'member' },
  body: s.object({ name: s.nullish(text(49)), mode: s.nullish(mode) }),
  returns: snapshotAnswer,
  errors: ['not_available', 'not_running', 'already_exists', 'no_room', 'busy', 'driver_failed', 'changed_meanwhile'],
  async run(context, asked) {
    needed(service)
    return (await take(context, asked, (asked.body ?? {}) as object)).answered
  },
})

const deleting = (service: Service): Action => ({
  name: 'snapshots.snapshotId.delete',
  summary: 'Deletes a snapshot of a sandbox',
  method: 'DELETE',
  path: 'snapshots/:snapshotId',
  on: 'record',
  access: { scope: 'sandboxes:delete', role: 'member' },
  statuses: { 204: 'Deleted; there is no body' },
  errors: ['not_available'],
  async run(context, asked) {
    needed(service)
    const { name } = await named(context, asked, idIn(asked), true)
    await remove(forKind(context, 'snapshot'), asked.actor, name)
    return reply(204)
  },
})

const restoring = (service: Service): Action => ({
  name: 'restore',
  summary:
    'Takes a sandbox back to a snapshot; what runs in it ends, and its files are kept until it has come up with the others',
  method: 'POST',
  path: 'snapshots/:snapshotId/restore',
  on: 'record',
  access: { scope: 'sandboxes:control', role: 'member' },
  returns: s.object({ name: s.string(), snapshotId: s.string(), awayMs: s.int() }),
  errors: [
    'not_available',
    'not_running',
    'wrong_state',
    'changed_meanwhile',
    'no_room',
    'operation_failed',
    'timed_out',
  ],
  async run(context, asked) {
    const snapshots = needed(service)
    const snapshot = await named(context, asked, idIn(asked), false)
    const sandbox = sandboxOf(asked)
    const { id, image } = storedSnapshot(snapshot)
    if (snapshot.status !== 'ready')
      throw fail('wrong_state', { kind: 'snapshot', name: snapshot.name, state: snapshot.status, wanted: 'a restore' })
    const instances = await context.store.instances.ofOwner(sandbox.uid)
    if (instances.some(one => one.image && one.image.digest !== image.digest))
      throw fail('wrong_state', {
        kind: 'sandbox',
        name: sandbox.name,
        state: 'made of another image than the snapshot',
        wanted: 'a restore (fork the snapshot instead)',
      })
    const { awayMs } = await snapshots.alone(sandbox.uid, () =>
      snapshots.restore(sandbox, snapshot.uid, asked.actor.name),
    )
    return { name: sandbox.name, snapshotId: id, awayMs }
  },
})

const forking = (service: Service): Action => ({
  name: 'fork.post',
  summary: 'Makes sandboxes with the files of this one, or of one of its snapshots, each with an identity of its own',
  method: 'POST',
  path: 'fork',
  on: 'record',
  access: { scope: 'sandboxes:create', role: 'member' },
  body: forkBody,
  returns: forkAnswer,
  errors: [...forkErrors, 'not_running', 'busy', 'driver_failed', 'changed_meanwhile'],
  async run(context, asked) {
    needed(service)
    const body = forkFrom(asked.body)
    await needFree(context, asked.actor, body)
    const record = body.snapshotId
      ? await named(context, asked, body.snapshotId, false)
      : (await take(context, asked, {})).record
    return fork(context, asked.actor, record, body)
  },
})

/** Declared without a service, done with one. */
export const snapshotActions = (service?: Service): readonly Action[] =>
  [listing, taking, deleting, restoring, forking].map(of => of(service))
