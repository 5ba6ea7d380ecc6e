/** A workspace as a row. */
import { isError } from '../../../../shared/errors.ts'
import { readJson } from './read-json.ts'
import type { Workspace } from '../store.ts'
import type { WorkspaceRow } from './tables.ts'

/** Throws `unavailable`, naming the row, where they cannot be read. */
export const labelsIn = (row: WorkspaceRow): Record<string, string> =>
  readJson<Record<string, string>>(row.labels, { table: 'workspaces', row: row.name, column: 'labels' })

/** Labels are shown and nothing else: whoever is in a workspace whose labels cannot be read is served, and it says that. */
const shownLabels = (row: WorkspaceRow): Pick<Workspace, 'labels' | 'unreadable'> => {
  try {
    const labels = labelsIn(row)
    return Object.keys(labels).length > 0 ? { labels } : {}
  } catch (error) {
    if (isError(error, 'unavailable')) return { unreadable: true }
    throw error
  }
}

export const toWorkspace = (row: WorkspaceRow): Workspace => ({
  id: row.id,
  name: row.name,
  account: row.account,
  displayName: row.display_name,
  ...shownLabels(row),
  ...(row.created_by ? { createdBy: row.created_by } : {}),
  ...(row.updated_by ? { updatedBy: row.updated_by } : {}),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

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
