/** Every kind this host serves, by its name. A new one is a definition file and a line here. */
import { parseWireNames, wireNames, type WireName } from '../../shared/wire-names.ts'
import type { Kind } from '../resources/kind.ts'
import { sandboxKind, type SandboxDeps } from '../sandbox/kind.ts'
import { agentKind } from './agent.ts'
import { apiKeyKind } from './api-key.ts'
import { applicationKind } from './application.ts'
import { connectionKind } from './connection.ts'
import { customDomainKind } from './custom-domain.ts'
import { driveKind } from './drive.ts'
import { executionKind, taskKind } from './execution.ts'
import { functionKind } from './function.ts'
import { imageShareKind } from './image-share.ts'
import { jobKind } from './job.ts'
import { modelKind } from './model.ts'
import { policyKind } from './policy.ts'
import { previewTokenKind } from './preview-token.ts'
import { previewKind } from './preview.ts'
import { registryKind } from './registry.ts'
import { serviceAccountKind } from './service-account.ts'
import { userKind } from './user.ts'
import { volumeTemplateKind } from './volume-template.ts'
import { volumeKind } from './volume.ts'
import { egressGatewayKind, egressIpKind, vpcKind } from './vpc.ts'

export interface KindDeps extends SandboxDeps {}

/** Those that need nothing of a host. */
const plainKindsFor = (names: readonly WireName[]): readonly Kind[] => [
  serviceAccountKind,
  apiKeyKind,
  policyKind,
  connectionKind,
  registryKind,
  modelKind,
  agentKind,
  functionKind,
  jobKind,
  executionKind,
  taskKind,
  customDomainKind,
  previewKind,
  previewTokenKind,
  volumeTemplateKind,
  volumeKind,
  driveKind,
  applicationKind(wireNames(names)),
  userKind,
  imageShareKind,
  vpcKind,
  egressGatewayKind,
  egressIpKind,
]

/** The same for programs, whose types know our names alone. */
export const plainKinds = plainKindsFor(parseWireNames('', ''))

export const createKinds = (deps: KindDeps) =>
  ({
    sandbox: sandboxKind(deps),
    ...(Object.fromEntries(plainKindsFor(deps.names.list).map(kind => [kind.kind, kind])) as Record<never, Kind>),
  }) satisfies Record<string, Kind>

export type Kinds = ReturnType<typeof createKinds>
