/** The routes of the management API by what they are about, for clients. */
import { accountMetrics, metricsGroupings, metricsResourceTypes } from '../../shared/wire/billing.ts'
import { listAccounts } from '../api/accounts.ts'
import { openApiRoute } from '../api/openapi.ts'
import { createWorkspace, getWorkspace, listWorkspaces } from '../api/workspaces.ts'
import { declareKind } from '../resources/routes.ts'
import { sandboxFace } from '../resources/sandbox.ts'

export const managementRoutes = {
  accounts: { list: listAccounts },
  billing: { metrics: accountMetrics, groupings: metricsGroupings, resourceTypes: metricsResourceTypes },
  documents: { openApi: openApiRoute },
  sandboxes: declareKind(sandboxFace),
  workspaces: { list: listWorkspaces, get: getWorkspace, create: createWorkspace },
} as const
