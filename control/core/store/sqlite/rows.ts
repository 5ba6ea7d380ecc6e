import { readJson, unreadable } from './read-json.ts'
import type { Instance, Outline, Resource, ResourceEvent, StoredMetadata } from '../store.ts'
import type { EventRow, InstanceRow, ResourceRow } from './tables.ts'

/** Lower-cased name, display name, label keys and values, one a line: no match can reach over two of them. */
const searchText = (name: string, { displayName, labels }: StoredMetadata): string =>
  [name, displayName ?? '', ...Object.entries(labels ?? {}).flat()].join('\n').toLowerCase()

export const toRow = (resource: Resource): ResourceRow => {
  const { metadata, spec, internal } = resource
  return {
    uid: resource.uid,
    kind: resource.kind,
    workspace: resource.workspace,
    parent: resource.parent,
    name: resource.name,
    version: resource.version,
    status: resource.status,
    external_id: metadata.externalId ?? null,
    search: searchText(resource.name, metadata),
    created_at: resource.createdAt,
    updated_at: resource.updatedAt,
    body: JSON.stringify({ metadata, spec, internal }),
  }
}

export const toOutline = (row: ResourceRow): Outline => ({
  uid: row.uid,
  kind: row.kind,
  workspace: row.workspace,
  parent: row.parent,
  name: row.name,
  version: row.version,
  status: row.status,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

export const toResource = (row: ResourceRow): Resource => {
  const place = { table: 'resources', row: `${row.kind} ${row.uid}`, column: 'body' }
  const { metadata, spec, internal } = readJson<Pick<Resource, 'metadata' | 'spec' | 'internal'>>(row.body, place, [
    'metadata',
    'spec',
    'internal',
  ])
  return { ...toOutline(row), metadata, spec, internal }
}

export const toEvent = (row: Omit<EventRow, 'id'>): ResourceEvent => ({
  time: row.time,
  type: row.type,
  status: row.status,
  message: row.message,
  ...(row.revision === null ? {} : { revision: row.revision }),
  ...(row.canary_revision === null ? {} : { canaryRevision: row.canary_revision }),
})

const toJson = (value: object | undefined): string | null => (value === undefined ? null : JSON.stringify(value))

export const toInstanceRow = (instance: Instance): InstanceRow => {
  const { owner, memoryMb, heldBytes, claimed } = instance
  return {
    id: instance.id,
    owner: owner.uid,
    kind: owner.kind,
    workspace: owner.workspace,
    parent: owner.parent,
    name: owner.name,
    revision: instance.revision,
    driver: instance.driver,
    version: instance.version,
    status: instance.status,
    address: toJson(instance.address),
    image: toJson(instance.image),
    created_at: instance.createdAt,
    started_at: instance.startedAt ?? null,
    turned_at: instance.turnedAt ?? null,
    last_used_at: instance.lastUsedAt ?? null,
    attempts: instance.attempts,
    errors: JSON.stringify(instance.errors),
    body: JSON.stringify({ memoryMb, heldBytes, claimed }),
  }
}

const partOf = <T extends object>(
  row: Pick<InstanceRow, 'id'>,
  column: 'address' | 'image' | 'errors' | 'body',
  text: string,
): T => readJson<T>(text, { table: 'instances', row: row.id, column })

/** Of what the machine is made from. */
export const digestIn = ({ id, image }: Pick<InstanceRow, 'id' | 'image'>): string => {
  const { digest } = partOf<Partial<NonNullable<Instance['image']>>>({ id }, 'image', image ?? 'null')
  if (typeof digest !== 'string') throw unreadable({ table: 'instances', row: id, column: 'image' }, 'no digest in it')
  return digest
}

export const toInstance = (row: InstanceRow): Instance => ({
  id: row.id,
  owner: { uid: row.owner, kind: row.kind, workspace: row.workspace, parent: row.parent, name: row.name },
  revision: row.revision,
  driver: row.driver,
  version: row.version,
  status: row.status,
  ...(row.address === null ? {} : { address: partOf<NonNullable<Instance['address']>>(row, 'address', row.address) }),
  ...(row.image === null ? {} : { image: partOf<NonNullable<Instance['image']>>(row, 'image', row.image) }),
  createdAt: row.created_at,
  ...(row.started_at === null ? {} : { startedAt: row.started_at }),
  ...(row.turned_at === null ? {} : { turnedAt: row.turned_at }),
  ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at }),
  attempts: row.attempts,
  errors: partOf<Instance['errors']>(row, 'errors', row.errors),
  ...partOf<Pick<Instance, 'memoryMb' | 'heldBytes' | 'claimed'>>(row, 'body', row.body),
})
