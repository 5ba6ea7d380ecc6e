/** The routes of the management API by what they are about, for clients. */
import { acceptInvitation, declineInvitation, listInvitations } from './invitation-declarations.ts'
import { accountMetrics, metricsGroupings, metricsResourceTypes } from '../../../shared/wire/billing.ts'
import { plainKinds } from '../../core/kinds/index.ts'
import { defineKind } from '../../core/records/define-kind.ts'
import { sandboxFace } from '../../core/kinds/sandbox/kind.ts'
import { auditHead, listAudit } from './audit.ts'
import { listAccounts, listQuotas } from './accounts.ts'
import {
  changelog,
  getIntegration,
  getTemplate,
  getTemplateSource,
  listTemplates,
  mcpHub,
  sandboxHub,
} from './catalogues.ts'
import { driveKeys } from './drive-keys.ts'
import { getConfiguration, getFeature, listFeatures, listLocations, listPublicIps } from './place-declarations.ts'
import { leaveWorkspace } from './leave.ts'
import {
  createImage,
  deleteImage,
  deleteImages,
  deleteTag,
  getImage,
  imageProgress,
  listImages,
} from './image-declarations.ts'
import { declarationsOf } from './kind-declarations.ts'
import { declareKind } from './kind-client.ts'
import { declareLinks } from './links.ts'
import { getHealth, getMetrics } from './health.ts'
import * as oauth from './oauth-declarations.ts'
import * as signIn from './sign-in-declarations.ts'
import { openApiRoute } from './openapi.ts'
import { declareOutbound } from './outbound.ts'
import { createPersonalKey, listPersonalKeys, removePersonalKey } from './personal-key-declarations.ts'
import { managementMcp } from '../mcp/routes.ts'
import { listRuns, listSandboxRuns, scheduleMetrics } from './schedules.ts'
import { buildLog, upload } from './uploads.ts'
import { declareUsage } from './usage.ts'
import { listWarmPools } from './warm.ts'
import {
  createWorkspace,
  getWorkspace,
  listWorkspaces,
  removeWorkspace,
  updateWorkspace,
  workspaceAvailability,
} from './workspace-declarations.ts'

export const managementRoutes = {
  accounts: { list: listAccounts, quotas: listQuotas },
  audit: { list: listAudit, head: auditHead },
  billing: { metrics: accountMetrics, groupings: metricsGroupings, resourceTypes: metricsResourceTypes },
  catalogues: {
    sandboxHub,
    mcpHub,
    templates: listTemplates,
    template: getTemplate,
    templateSource: getTemplateSource,
    integration: getIntegration,
    changelog,
  },
  documents: { openApi: openApiRoute },
  driveKeys: { list: driveKeys },
  places: {
    configuration: getConfiguration,
    locations: listLocations,
    publicIps: listPublicIps,
    features: listFeatures,
    feature: getFeature,
  },
  ...Object.fromEntries(plainKinds.map(kind => [kind.plural, declarationsOf(kind)])),
  mcp: { call: managementMcp },
  health: { get: getHealth, metrics: getMetrics },
  images: {
    list: listImages,
    create: createImage,
    get: getImage,
    progress: imageProgress,
    delete: deleteImage,
    deleteTag,
    deleteUnused: deleteImages,
  },
  uploads: { send: upload, log: buildLog },
  personalKeys: { list: listPersonalKeys, create: createPersonalKey, remove: removePersonalKey },
  sandboxes: declareKind(sandboxFace),
  links: declareLinks(defineKind(sandboxFace)),
  oauth: {
    configuration: oauth.openIdConfiguration,
    server: oauth.authorizationServer,
    resource: oauth.protectedResource,
    mcpResource: oauth.protectedMcp,
    keys: oauth.oauthKeys,
    token: oauth.oauthToken,
    revoke: oauth.oauthRevoke,
    register: oauth.oauthRegister,
    device: oauth.startDevice,
    authorize: signIn.authorize,
    authorizeResume: signIn.resumeAuthorize,
    interaction: signIn.interactionPage,
    interactionSubmit: signIn.submitInteraction,
    devicePage: signIn.devicePage,
    deviceSubmit: signIn.submitDevice,
    deviceResume: signIn.resumeDevice,
    join: signIn.joinPage,
    joinSubmit: signIn.submitJoin,
    callback: signIn.elsewhereCallback,
  },
  invitations: { list: listInvitations, accept: acceptInvitation, decline: declineInvitation },
  outbound: declareOutbound(defineKind(sandboxFace)),
  scheduleRuns: { list: listRuns, ofSandbox: listSandboxRuns, metrics: scheduleMetrics },
  usage: {
    get: declareUsage(defineKind(sandboxFace)),
    ...Object.fromEntries(plainKinds.filter(({ server }) => server).map(kind => [kind.plural, declareUsage(kind)])),
  },
  warmPools: { list: listWarmPools },
  workspaces: {
    list: listWorkspaces,
    get: getWorkspace,
    create: createWorkspace,
    update: updateWorkspace,
    remove: removeWorkspace,
    availability: workspaceAvailability,
    leave: leaveWorkspace,
  },
} as const
