/** A function: an MCP server that is called by name. */
import { s } from '../../../shared/schema.ts'
import { defineKind } from '../records/define-kind.ts'
import { runtimeContent } from '../workloads/content.ts'
import { served, type ServedFace } from '../workloads/kind.ts'
import type { WorkloadDeps } from '../workloads/workload.ts'
import { namedConnections, namedPolicies } from './named.ts'
import { listRevisions } from './revisions.ts'
import { nameList } from './shapes.ts'
import { runtimeOf, serving, specOf, withTriggers } from './workload.ts'

const mcp = s.nullish(s.literal('mcp'))

const face: ServedFace = {
  label: 'mcp',
  scope: 'functions:get',
  dimension: 'mcp_server_compute_runtime_gbs',
  contentOf: runtimeContent,
  isPublic: spec => spec['public'] === true,
}

export const functionKind = (deps?: WorkloadDeps) =>
  defineKind({
    ...served(deps, face),
    kind: 'function',
    plural: 'functions',
    scope: 'functions',
    spec: specOf({
      type: mcp,
      public: s.nullish(s.boolean()),
      integrationConnections: nameList,
      runtime: s.nullish(
        runtimeOf({ ...serving, type: mcp, transport: s.nullish(s.enum(['websocket', 'http-stream'])) }),
      ),
    }),
    fallback: { enabled: true, public: false },
    absent: 'clear',
    complete: withTriggers,
    sealed: [{ at: ['runtime', 'envs'], as: 'envs' }],
    showsSecrets: true,
    uploads: true,
    imageAt: ['runtime', 'image'],
    paginated: true,
    actions: [listRevisions('functions:get')],
    references: spec => [...namedConnections(spec), ...namedPolicies(spec)],
    example: {
      create: {
        metadata: { name: 'search' },
        spec: { type: 'mcp', integrationConnections: ['openai'], runtime: { type: 'mcp', image: 'function/search:1' } },
      },
      update: { spec: { enabled: false, runtime: { type: 'mcp', image: 'function/search:1' } } },
    },
  })
