/** Every kind this host serves, by its name. A new one is a definition file and a line here. */
import { parseWireNames, wireNames } from '../../../shared/wire-names.ts'
import type { PlaceConfig } from '../../base/config/place.ts'
import type { Invitations } from '../access/invitations.ts'
import type { Kind } from '../records/kind.ts'
import { sandboxKind, type SandboxDeps } from './sandbox/kind.ts'
import { binding } from '../workloads/policies.ts'
import type { WorkloadDeps } from '../workloads/workload.ts'
import { agentKind } from './agent.ts'
import { apiKeyKind } from './api-key.ts'
import { applicationKind } from './application.ts'
import { connectionKind } from './connection.ts'
import { customDomainKind } from './custom-domain.ts'
import { driveKind, plainDriveKind } from './drive.ts'
import { executionKind, taskKind } from './execution.ts'
import { functionKind } from './function.ts'
import { imageShareKind } from './image-share.ts'
import { jobKind } from './job.ts'
import { modelKind } from './model.ts'
import { namedPolicies } from './named.ts'
import { policyKind } from './policy.ts'
import { previewTokenKind } from './preview-token.ts'
import { previewKind } from './preview.ts'
import { registryKind } from './registry.ts'
import { scheduleKind } from './schedule.ts'
import { serviceAccountKind } from './service-account.ts'
import { userKind } from './user.ts'
import { snapshotKind } from './sandbox/snapshots/kind.ts'
import { volumeTemplateKind } from './volume-template.ts'
import { volumeKind, type VolumeDeps } from './volume.ts'
import { templatesIn } from '../storage/volumes/templates.ts'
import { networkKinds, networksIn, type NetworkKindDeps } from './vpc.ts'

export interface KindDeps
  extends Omit<SandboxDeps, 'networks' | 'namedPolicies'>,
    NetworkKindDeps,
    Omit<WorkloadDeps, 'images'>,
    Omit<VolumeDeps, 'templates'> {
  readonly store: SandboxDeps['store']
  /** This host has a directory of drives. */
  readonly servesDrives: boolean
  readonly invitations: Invitations
  /** Where this box is and what it has. */
  readonly place: PlaceConfig
}

/** For declarations alone. */
const nothing = undefined as never

/** Those that need nothing of a host, or can be declared without. */
export const plainKinds: readonly Kind[] = [
  serviceAccountKind,
  apiKeyKind,
  policyKind,
  connectionKind,
  registryKind,
  modelKind(() => 'local'),
  agentKind(),
  functionKind(),
  jobKind,
  executionKind,
  taskKind,
  customDomainKind,
  previewKind,
  previewTokenKind,
  scheduleKind,
  volumeTemplateKind,
  volumeKind({
    regions: [],
    store: nothing,
    volumes: undefined,
    needRoom: async () => {},
    templates: templatesIn(nothing, volumeTemplateKind.kind),
  }),
  plainDriveKind,
  applicationKind(wireNames(parseWireNames('', ''))),
  userKind(),
  imageShareKind,
  snapshotKind(),
  ...networkKinds({ regions: [] }),
]

/** Those whose deployments policies bind, by location and flavour. */
const bound: readonly string[] = ['sandbox', 'agent', 'function', 'application']

/** The kind, held to the policies that its specs name. */
const heldToPolicies = (kind: Kind, { store, regions, place }: KindDeps): Kind => {
  if (!bound.includes(kind.kind)) return kind
  return { ...kind, bind: binding({ store, box: { ...place, regions } }, [kind.kind, policyKind.kind]) }
}

export const createKinds = (deps: KindDeps) =>
  ({
    sandbox: heldToPolicies(
      sandboxKind({
        ...deps,
        networks: networksIn(deps),
        namedPolicies: policies => namedPolicies({ policies }),
      }),
      deps,
    ),
    ...(Object.fromEntries(
      [
        ...plainKinds,
        modelKind(() => deps.regions[0] ?? 'local'),
        agentKind(deps),
        functionKind(deps),
        applicationKind(wireNames(deps.names.list), deps),
        userKind(deps.invitations),
        driveKind({ served: deps.servesDrives }),
        volumeKind({ ...deps, templates: templatesIn(deps.store, volumeTemplateKind.kind) }),
        snapshotKind(deps),
        ...networkKinds(deps),
      ].map(kind => [kind.kind, heldToPolicies(kind, deps)]),
    ) as Record<never, Kind>),
  }) satisfies Record<string, Kind>

export type Kinds = ReturnType<typeof createKinds>
