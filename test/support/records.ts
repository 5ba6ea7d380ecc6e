import type {
  Instance,
  InstanceChange,
  Metered,
  Resource,
  ResourceChange,
  ResourceEvent,
  Store,
  WritableStore,
} from '../../control/core/store/store.ts'

/** A sandbox record; what matters to a test is given. */
export const record = (given: Partial<Resource> & { name: string }): Resource => ({
  uid: `uid-${given.name}`,
  kind: 'sandbox',
  workspace: 'main',
  parent: '',
  version: 1,
  status: 'DEPLOYED',
  metadata: { createdBy: 'a', updatedBy: 'a' },
  spec: {},
  internal: {},
  createdAt: 1_000,
  updatedAt: 1_000,
  ...given,
})

/** An instance of that record; what matters to a test is given. */
export const instanceOf = (
  { uid, kind, workspace, parent, name, createdAt }: Resource,
  given: Partial<Instance> = {},
): Instance => ({
  id: uid,
  owner: { uid, kind, workspace, parent, name },
  revision: '0',
  driver: 'fake',
  version: 1,
  status: 'running',
  createdAt,
  attempts: 0,
  errors: [],
  ...given,
})

/** Stores a record as it is. */
export const put = async (store: WritableStore, resource: Resource, event?: ResourceEvent): Promise<Resource> => {
  const { resources } = await store.apply(
    [{ type: 'create', resource, ...(event ? { event } : {}) }],
    resource.createdAt,
  )
  return resources[0] as Resource
}

/** Changes the record of that version. */
export const change = async (
  store: WritableStore,
  [uid, version]: readonly [string, number],
  given: ResourceChange & { readonly event?: ResourceEvent },
  now: number,
): Promise<Resource> => {
  const { event, ...changed } = given
  const write = { type: 'update' as const, uid, version, change: changed, ...(event ? { event } : {}) }
  return (await store.apply([write], now)).resources[0] as Resource
}

/** Changes the record as it is now. */
export const become = async (store: WritableStore, uid: string, given: ResourceChange): Promise<Resource> => {
  const found = await store.resources.getByUid(uid)
  if (!found) throw new Error(`no resource ${uid}`)
  return change(store, [uid, found.version], given, found.updatedAt)
}

/** Removes the record as it is now, as a loop does when its time is over. */
export const erase = async (store: WritableStore, uid: string, now: number): Promise<void> => {
  const found = await store.resources.getByUid(uid)
  if (found) await store.apply([{ type: 'remove', uid, version: found.version }], now)
}

/** Stores an instance as it is, metered from its creation on. */
export const putInstance = async (store: WritableStore, instance: Instance, rates: Metered['rates'] = []) => {
  await store.apply([{ type: 'addInstance', instance, metered: { rates } }], instance.createdAt)
  return instance
}

/** Changes the instance of that version, and what it is metered for. */
export const turn = async (
  store: WritableStore,
  [id, version]: readonly [string, number],
  given: { readonly change?: InstanceChange; readonly metered?: Metered },
  now: number,
): Promise<Instance> => {
  const { change: changed = {}, metered } = given
  const write = { type: 'updateInstance' as const, id, version, change: changed, ...(metered ? { metered } : {}) }
  return (await store.apply([write], now)).instances[0] as Instance
}

/** Account `acme` with workspaces `main` and `other`, account `rival` with `theirs`. */
export const addTenants = async ({ tenants }: Store): Promise<void> => {
  for (const id of ['acme', 'rival']) await tenants.addAccount({ id, displayName: id, createdAt: 1 })
  for (const [name, account] of [
    ['main', 'acme'],
    ['other', 'acme'],
    ['theirs', 'rival'],
  ] as const)
    await tenants.addWorkspace({ id: `id-${name}`, name, account, displayName: name, createdAt: 1 })
}

/** Numbers in [0, 1) that are the same on every run (mulberry32). */
export const dice = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
