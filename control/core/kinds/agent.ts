/** An agent: an HTTP server of the customer's that is called by name. */
import { s, text } from '../../../shared/schema.ts'
import { defineKind } from '../records/define-kind.ts'
import { runtimeContent } from '../workloads/content.ts'
import { served, type ServedFace } from '../workloads/kind.ts'
import type { WorkloadDeps } from '../workloads/workload.ts'
import { namedPolicies } from './named.ts'
import { listRevisions } from './revisions.ts'
import {
  callbackSecrets,
  hiddenCallbackSecrets,
  namedVolumes,
  runtimeOf,
  serving,
  specOf,
  withTriggers,
} from './workload.ts'

const volume = s.object({
  name: text(63),
  mountPath: text(4096).check(s.startsWith('/', 'must be an absolute path')),
  readOnly: s.nullish(s.boolean()),
})

const face: ServedFace = {
  label: 'agt',
  scope: 'agents:get',
  dimension: 'agent_compute_runtime_gbs',
  contentOf: runtimeContent,
  laterAs: 'agent_async_requests_count',
  isPublic: spec => spec['public'] === true,
}

export const agentKind = (deps?: WorkloadDeps) =>
  defineKind({
    ...served(deps, face),
    kind: 'agent',
    plural: 'agents',
    scope: 'agents',
    spec: specOf({
      public: s.nullish(s.boolean()),
      repository: s.nullish(s.object({ type: s.nullish(text(63)), url: s.nullish(text(2048)) })),
      runtime: s.nullish(runtimeOf(serving)),
      volumes: s.nullish(s.array(volume).check(s.maxLength(100))),
    }),
    fallback: { enabled: true, public: false },
    absent: 'clear',
    complete: withTriggers,
    generate: callbackSecrets,
    presentSpec: ({ spec }) => hiddenCallbackSecrets(spec),
    sealed: [{ at: ['runtime', 'envs'], as: 'envs' }],
    showsSecrets: true,
    uploads: true,
    imageAt: ['runtime', 'image'],
    paginated: true,
    actions: [listRevisions('agents:list')],
    references: spec => [...namedPolicies(spec), ...namedVolumes(spec)],
    example: {
      create: {
        metadata: { name: 'support' },
        spec: {
          policies: ['eu-only'],
          runtime: { image: 'agent/support:1', memory: 2048 },
          triggers: [{ type: 'http' }],
        },
      },
      update: { spec: { runtime: { image: 'agent/support:2', memory: 2048 } } },
    },
  })
