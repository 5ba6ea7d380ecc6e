/** The routes of the management API by what they are about, for clients. */
import { accountMetrics, metricsGroupings, metricsResourceTypes } from '../../shared/wire/billing.ts'
import { sandboxFace } from '../sandbox/kind.ts'
import { listAccounts } from './accounts.ts'
import { declareKind } from './kind-declarations.ts'
import { openApiRoute } from './openapi.ts'
import { declareOutbound } from './outbound.ts'
import { createWorkspace, getWorkspace, listWorkspaces } from './workspaces.ts'

export const managementRoutes = {
  accounts: { list: listAccounts },
  billing: { metrics: accountMetrics, groupings: metricsGroupings, resourceTypes: metricsResourceTypes },
  documents: { openApi: openApiRoute },
  sandboxes: declareKind(sandboxFace),
  outbound: declareOutbound(sandboxFace),
  workspaces: { list: listWorkspaces, get: getWorkspace, create: createWorkspace },
} as const
