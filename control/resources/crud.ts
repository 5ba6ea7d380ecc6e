/**
 * What can be done with a resource of any kind. Knows no HTTP: the management API and the library are thin layers over it.
 * Every verb is one decision and one transaction; what takes time is left to the reconciler, which is poked.
 */
import { fail, isError } from '../../shared/errors.ts'
import type { Key, Resource } from '../store/store.ts'
import type { Actor, CrudDeps } from './actor.ts'
import type { Kind, Spec } from './kind.ts'
import { checkName, mergeMetadata, type MetadataInput } from './metadata.ts'
import { listing, type ListQuery, type Page } from './listing.ts'
import { present, type Presented } from './present.ts'

export type { Actor, CrudDeps } from './actor.ts'

/** The body of a create or update, parsed. */
export interface ResourceInput {
  readonly metadata?: MetadataInput | null | undefined
  readonly spec?: unknown
}

export interface Crud {
  readonly kind: Kind
  create(
    actor: Actor,
    input: ResourceInput,
    options?: { parent?: string; createIfNotExist?: boolean },
  ): Promise<Presented>
  get(actor: Actor, name: string, options?: { parent?: string; showSecrets?: boolean }): Promise<Presented>
  getByExternalId(actor: Actor, externalId: string): Promise<Presented>
  list(actor: Actor, query: ListQuery, options?: { parent?: string; lite?: boolean }): Promise<Page>
  update(actor: Actor, name: string, input: ResourceInput, options?: { parent?: string }): Promise<Presented>
  /** Repeating it is harmless: what is on its way out is answered as it is. */
  remove(actor: Actor, name: string, options?: { parent?: string }): Promise<Presented>
}

/** Attempts at a change that others make at the same time before the caller is told. */
const attempts = 5

export const crud = (kind: Kind, deps: CrudDeps): Crud => {
  const { store, clock, ids, kinds, poke } = deps
  const children = kinds.filter(child => child.parent?.kind === kind.kind)
  const keyOf = (actor: Actor, name: string, parent = ''): Key => ({
    kind: kind.kind,
    workspace: actor.workspace,
    parent,
    name,
  })
  const statusNow = (resource: Resource): string => kind.statusAt?.(resource, clock.now()) ?? resource.status
  const replaceable = (resource: Resource): boolean => kind.replaceableStatuses.includes(statusNow(resource))

  const answer = async (resource: Resource, showSecrets = false): Promise<Presented> => {
    // Time has decided what the loop has not seen yet.
    if (statusNow(resource) !== resource.status) poke(kind.kind, resource.uid)
    const events = await store.resources.events(resource.uid)
    return present(kind, resource, { showSecrets, now: clock.now(), plan: deps.plan, url: deps.url(resource), events })
  }

  const find = async (actor: Actor, name: string, parent?: string): Promise<Resource> => {
    const found = await store.resources.get(keyOf(actor, name, parent))
    if (!found) throw fail('not_found', { kind: kind.kind, name })
    return found
  }

  const needParent = async (actor: Actor, name: string | undefined): Promise<void> => {
    const owner = kind.parent
    if (!owner || !name) return
    const key = { kind: owner.kind, workspace: actor.workspace, parent: '', name }
    const found = await store.resources.get(key)
    const status = found && (owner.statusAt?.(found, clock.now()) ?? found.status)
    if (!found || !status || owner.hiddenStatuses.includes(status)) throw fail('not_found', { kind: owner.kind, name })
  }

  const forget = async (resource: Resource): Promise<void> => {
    for (const child of children) {
      const query = {
        kind: child.kind,
        workspace: resource.workspace,
        parent: resource.name,
        sort: 'name:asc' as const,
      }
      for (;;) {
        const { items, hasMore } = await store.resources.list({ ...query, limit: 200 })
        for (const item of items) {
          await store.resources.remove(item.uid, clock.now())
          poke(child.kind, item.uid)
        }
        if (!hasMore) break
      }
    }
  }

  /** Removes a row at once; `changed_meanwhile` when it is no longer what the decision was made on. */
  const erase = async (resource: Resource): Promise<void> => {
    const now = clock.now()
    await store.resources.update(resource.uid, resource.version, { status: 'DELETING' }, now)
    await forget(resource)
    await store.resources.remove(resource.uid, now)
    poke(kind.kind, resource.uid)
  }

  const insert = async (
    actor: Actor,
    name: string,
    input: ResourceInput,
    { parent, holder }: { parent: string; holder: Resource | undefined },
  ): Promise<Resource> => {
    const spec = ((await kind.accept?.(input.spec as never, undefined)) ?? input.spec ?? {}) as Spec
    const now = clock.now()
    const status = kind.initialStatus(spec)
    const resource: Resource = {
      uid: ids.uuid(),
      kind: kind.kind,
      workspace: actor.workspace,
      parent,
      name,
      version: 1,
      status,
      metadata: mergeMetadata(input.metadata ?? undefined, undefined, actor.name),
      spec,
      internal: {},
      createdAt: now,
      updatedAt: now,
    }
    if (holder) await erase(holder)
    // Of one that ended by itself and whose record is gone, what lived inside may be left.
    else await forget(resource)
    const event = { time: now, type: 'deployment', status, message: `${kind.kind} ${name} created` }
    const made = await store.resources.create(resource, { event })
    poke(kind.kind, made.uid)
    return made
  }

  const create: Crud['create'] = async (actor, input, options = {}) => {
    const { parent = '', createIfNotExist = false } = options
    const name = input.metadata?.name ? checkName(input.metadata.name) : `${kind.kind}-${ids.short(8)}`
    await needParent(actor, parent)
    for (let attempt = 1; ; attempt++) {
      const holder = await store.resources.get(keyOf(actor, name, parent))
      if (holder && !replaceable(holder)) {
        // Asked to make sure that one exists, one on its way out is as good as gone.
        if (createIfNotExist && statusNow(holder) !== 'DELETING') return answer(holder)
        if (!createIfNotExist) throw fail('already_exists', { kind: kind.kind, name })
      }
      try {
        return await answer(await insert(actor, name, input, { parent, holder }))
      } catch (error) {
        // Somebody else wrote between our look and our write: look again.
        const raced = isError(error, 'changed_meanwhile') || (createIfNotExist && isError(error, 'already_exists'))
        if (!raced || attempt === attempts) throw error
      }
    }
  }

  const changed = async (actor: Actor, found: Resource, input: ResourceInput): Promise<Resource> => {
    const spec = ((await kind.accept?.(input.spec as never, found)) ?? input.spec ?? found.spec) as Spec
    const consequence = kind.consequence?.(found, spec)
    const now = clock.now()
    return store.resources.update(
      found.uid,
      found.version,
      {
        spec,
        metadata: mergeMetadata(input.metadata ?? undefined, found.metadata, actor.name),
        ...(consequence
          ? {
              status: consequence.status,
              event: { time: now, type: 'deployment', status: consequence.status, message: consequence.message },
              // Whatever it was metered for ends here; the loop opens what comes next.
              rates: [],
              ...(consequence.internal ? { internal: { ...found.internal, ...consequence.internal } } : {}),
            }
          : {}),
      },
      now,
    )
  }

  /** Looks, decides and writes, again when somebody else wrote in between. */
  const settle = async (
    actor: Actor,
    name: string,
    parent: string | undefined,
    step: (found: Resource) => Promise<Resource>,
  ): Promise<Resource> => {
    for (let attempt = 1; ; attempt++) {
      const found = await find(actor, name, parent)
      try {
        return await step(found)
      } catch (error) {
        if (!isError(error, 'changed_meanwhile') || attempt === attempts) throw error
      }
    }
  }

  const update: Crud['update'] = async (actor, name, input, options = {}) => {
    await needParent(actor, options.parent)
    const given = input.metadata?.name
    if (given && given !== name)
      throw fail('invalid_argument', { field: 'metadata.name', reason: `cannot be changed from "${name}"` })
    const after = await settle(actor, name, options.parent, async found => {
      const state = statusNow(found)
      if (['DELETING', 'TERMINATED'].includes(state))
        throw fail('wrong_state', { kind: kind.kind, name, state, wanted: 'an update' })
      return changed(actor, found, input)
    })
    poke(kind.kind, after.uid)
    return answer(after)
  }

  const remove: Crud['remove'] = async (actor, name, options = {}) => {
    await needParent(actor, options.parent)
    if (kind.removal === 'immediate') {
      const gone = await settle(actor, name, options.parent, async found => {
        await erase(found)
        return { ...found, status: 'DELETING' }
      })
      return answer(gone)
    }
    const after = await settle(actor, name, options.parent, async found => {
      if (['DELETING', 'TERMINATED'].includes(found.status)) return found
      const now = clock.now()
      const event = { time: now, type: 'deployment', status: 'DELETING', message: `${kind.kind} ${name} deleted` }
      return store.resources.update(found.uid, found.version, { status: 'DELETING', event, rates: [] }, now)
    })
    await forget(after)
    poke(kind.kind, after.uid)
    return answer(after)
  }

  return {
    kind,
    create,
    update,
    remove,
    list: async (actor, query, options = {}) => {
      await needParent(actor, options.parent)
      return listing(kind, deps, actor, query, options)
    },
    get: async (actor, name, { parent, showSecrets = false } = {}) => {
      await needParent(actor, parent)
      if (showSecrets && !actor.admin)
        throw fail('forbidden', { reason: 'show_secrets needs the admin role of the workspace' })
      return answer(await find(actor, name, parent), showSecrets)
    },
    getByExternalId: async (actor, externalId) => {
      const { resources } = store
      const hidden = kind.hiddenStatuses
      const live = (resource: Resource) => !hidden.includes(statusNow(resource))
      let found = await resources.getByExternalId(kind.kind, actor.workspace, externalId, hidden)
      if (found && !live(found)) {
        // Its time is over; there may be older ones that live.
        const query = { kind: kind.kind, workspace: actor.workspace, externalId, exceptStatuses: hidden }
        found = (await resources.list({ ...query, sort: 'createdAt:desc', limit: 200 })).items.find(live)
      }
      if (!found) throw fail('not_found', { kind: kind.kind, name: externalId })
      return answer(found)
    },
  }
}
