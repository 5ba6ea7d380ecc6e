/** A workspace as a row. */
import { readJson } from './read-json.ts'
import type { Workspace } from '../store.ts'
import type { WorkspaceRow } from './tables.ts'

export const toWorkspace = (row: WorkspaceRow): Workspace => {
  const labels = readJson<Record<string, string>>(row.labels, { table: 'workspaces', row: row.name, column: 'labels' })
  return {
    id: row.id,
    name: row.name,
    account: row.account,
    displayName: row.display_name,
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(row.created_by ? { createdBy: row.created_by } : {}),
    ...(row.updated_by ? { updatedBy: row.updated_by } : {}),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export const toWorkspaceRow = (workspace: Workspace): WorkspaceRow => ({
  id: workspace.id,
  name: workspace.name,
  account: workspace.account,
  display_name: workspace.displayName,
  labels: JSON.stringify(workspace.labels ?? {}),
  created_by: workspace.createdBy ?? '',
  updated_by: workspace.updatedBy ?? '',
  created_at: workspace.createdAt,
  updated_at: workspace.updatedAt ?? workspace.createdAt,
  deleted_at: null,
})
