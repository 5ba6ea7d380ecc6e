/** The routes of the management API by what they are about, for clients. */
import { accountMetrics, metricsGroupings, metricsResourceTypes } from '../../shared/wire/billing.ts'
import { plainKinds } from '../kinds/index.ts'
import { defineKind } from '../resources/define-kind.ts'
import { sandboxFace } from '../sandbox/kind.ts'
import { listAccounts } from './accounts.ts'
import { deleteImage, deleteImages, deleteTag, getImage, imageProgress, listImages } from './image-declarations.ts'
import { declarationsOf } from './kind-declarations.ts'
import { declareKind } from './kind-client.ts'
import { openApiRoute } from './openapi.ts'
import { declareOutbound } from './outbound.ts'
import { createPersonalKey, listPersonalKeys, removePersonalKey } from './personal-key-declarations.ts'
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
  accounts: { list: listAccounts },
  billing: { metrics: accountMetrics, groupings: metricsGroupings, resourceTypes: metricsResourceTypes },
  documents: { openApi: openApiRoute },
  ...Object.fromEntries(plainKinds.map(kind => [kind.plural, declarationsOf(kind)])),
  images: {
    list: listImages,
    get: getImage,
    progress: imageProgress,
    delete: deleteImage,
    deleteTag,
    deleteUnused: deleteImages,
  },
  personalKeys: { list: listPersonalKeys, create: createPersonalKey, remove: removePersonalKey },
  sandboxes: declareKind(sandboxFace),
  outbound: declareOutbound(defineKind(sandboxFace)),
  warmPools: { list: listWarmPools },
  workspaces: {
    list: listWorkspaces,
    get: getWorkspace,
    create: createWorkspace,
    update: updateWorkspace,
    remove: removeWorkspace,
    availability: workspaceAvailability,
  },
} as const
