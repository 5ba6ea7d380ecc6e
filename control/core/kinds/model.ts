/** A model: an endpoint of an external provider, reached with the credentials of an integration connection. */
import { s, text } from '../../../shared/schema.ts'
import { providers } from '../models/providers/index.ts'
import { usageReport } from '../models/usage-report.ts'
import { usageShape } from '../models/usage-shape.ts'
import { stateTable } from '../transitions/state-table.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'
import { statuses, type Found, type Spec } from '../records/kind.ts'
import { namedConnections, namedPolicies } from './named.ts'
import { lastFive, listRevisions } from './revisions.ts'
import { flavors, nameList } from './shapes.ts'

const types = providers.map(({ type }) => type)

const runtime = s.object({
  type: s.nullish(s.enum(types)),
  model: s.nullish(text(256)),
  organization: s.nullish(text(256)),
  endpointName: s.nullish(text(256)),
  generation: s.nullish(s.enum(['', 'mk2', 'mk3'])),
})

/** What it has used; calls that ended a moment ago included. */
const usage: Action = {
  name: 'usage',
  summary: 'Tells what a model has used: calls, tokens, errors, dollars and times, by key or by the model that served',
  method: 'GET',
  path: 'usage',
  on: 'record',
  access: { scope: 'models:get', role: 'member' },
  query: {
    startTime: s.optional(text(64)),
    endTime: s.optional(text(64)),
    groupBy: s.optional(s.enum(['key', 'model'])),
    resolution: s.optional(s.enum(['hourly', 'daily'])),
  },
  returns: usageShape,
  errors: ['invalid_argument'],
  async run({ store, clock, modelCalls }, { found, query = {} }) {
    const { record } = found as Found
    await modelCalls?.flush()
    const { waiting = 0, lost = 0 } = modelCalls?.gap ?? {}
    const of = { workspace: record.workspace, model: record.uid }
    return usageReport(store.modelUsage, of, query, { now: clock.now(), unrecorded: waiting + lost })
  },
}

/** It is looked at whenever it or its connection has changed, and serves meanwhile: what it says is what that look has found. */
const life = stateTable('DEPLOYING', {
  DEPLOYING: { deployed: 'DEPLOYED', broke: 'FAILED', change: 'DEPLOYING', disable: 'DEACTIVATED', delete: 'DELETING' },
  DEPLOYED: {
    deployed: 'DEPLOYED',
    broke: 'FAILED',
    change: 'DEPLOYING',
    disable: 'DEACTIVATED',
    delete: 'DELETING',
  },
  FAILED: { deployed: 'DEPLOYED', broke: 'FAILED', change: 'DEPLOYING', disable: 'DEACTIVATED', delete: 'DELETING' },
  DEACTIVATED: { change: 'DEACTIVATED', enable: 'DEPLOYING', delete: 'DELETING' },
  DELETING: { delete: 'DELETING' },
})

const isEnabled = (spec: Spec): boolean => spec['enabled'] !== false

export const modelKindName = 'model'

/** `region` stands in its address: a model is everywhere the same. */
export const modelKind = (region: () => string) =>
  defineKind({
    kind: modelKindName,
    life,
    statuses,
    initialStatus: spec => (isEnabled(spec) ? life.initial : 'DEACTIVATED'),
    createdMessage: spec => (isEnabled(spec) ? 'looking at its provider' : 'disabled'),
    consequence({ spec: before }, spec) {
      if (isEnabled(before) !== isEnabled(spec))
        return isEnabled(spec) ? { event: 'enable', message: 'enabled' } : { event: 'disable', message: 'disabled' }
      if (JSON.stringify(before) === JSON.stringify(spec)) return undefined
      return { event: 'change', message: isEnabled(spec) ? 'changed' : 'disabled' }
    },
    dataPlane: { label: 'mdl', scope: 'models:get', region, handled: true },
    plural: 'models',
    scope: 'models',
    spec: s.object({
      enabled: s.nullish(s.boolean()),
      flavors: s.nullish(flavors),
      integrationConnections: nameList,
      policies: nameList,
      runtime: s.nullish(runtime),
      sandbox: s.nullish(s.boolean()),
      fallbacks: s.nullish(s.array(text(63)).check(s.maxLength(10))),
      retries: s.nullish(s.int().check(s.gte(0), s.lte(5))),
    }),
    fallback: { enabled: true },
    absent: 'clear',
    paginated: true,
    revisions: lastFive,
    actions: [listRevisions('models:list'), usage],
    // A model has one revision that counts; which one is not told.
    presentSpec({ spec }) {
      const { revision: _, ...shown } = spec
      return shown
    },
    references: spec => [...namedConnections(spec), ...namedPolicies(spec)],
    example: {
      create: {
        metadata: { name: 'gpt' },
        spec: {
          runtime: { type: 'openai', model: 'gpt-5' },
          integrationConnections: ['openai'],
          policies: ['eu-only'],
        },
      },
      update: { spec: { enabled: false, runtime: { type: 'openai', model: 'gpt-5-mini' } } },
    },
  })
