import type { Resource, ResourceEvent, StoredMetadata } from '../store.ts'
import type { EventRow, ResourceRow } from './tables.ts'

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

export const toResource = (row: ResourceRow): Resource => {
  const { metadata, spec, internal } = JSON.parse(row.body) as Pick<Resource, 'metadata' | 'spec' | 'internal'>
  return {
    uid: row.uid,
    kind: row.kind,
    workspace: row.workspace,
    parent: row.parent,
    name: row.name,
    version: row.version,
    status: row.status,
    metadata,
    spec,
    internal,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export const toEvent = (row: Omit<EventRow, 'id'>): ResourceEvent => ({
  time: row.time,
  type: row.type,
  status: row.status,
  message: row.message,
  ...(row.revision === null ? {} : { revision: row.revision }),
})
