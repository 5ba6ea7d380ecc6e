/** A policy: where resources may run, on what, and how many tokens they may use. */
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'
import { flavors } from './shapes.ts'

const count = s.nullish(s.int().check(s.gte(0)))

const spec = s.object({
  type: s.nullish(s.enum(['location', 'flavor', 'maxToken'])),
  flavors: s.nullish(flavors),
  locations: s.nullish(
    s.array(s.object({ name: text(63), type: s.nullish(s.enum(['location', 'country', 'continent'])) })),
  ),
  maxTokens: s.nullish(
    s.object({
      granularity: s.nullish(s.enum(['minute', 'hour', 'day', 'month'])),
      input: count,
      output: count,
      total: count,
      ratioInputOverOutput: s.nullish(s.number().check(s.gte(0))),
      step: s.nullish(s.int().check(s.gte(1))),
    }),
  ),
  resourceTypes: s.nullish(s.array(s.enum(['model', 'function', 'agent', 'sandbox', 'application']))),
  sandbox: s.nullish(s.boolean()),
})

/** Plurals of the kinds that may name policies. */
const users = ['agents', 'functions', 'jobs', 'models', 'sandboxes'] as const

/** More than these are not listed. */
const mostUsers = 1000

const usages: Action = {
  name: 'usages',
  summary: 'Names the resources that a policy applies to',
  method: 'GET',
  path: 'usages',
  on: 'record',
  access: { scope: ['policies:get', ...users.map(plural => `${plural}:list`)], role: 'member' },
  returns: s.object(Object.fromEntries(users.map(plural => [plural, s.array(s.string())]))),
  async run({ store, kinds }, { found }) {
    const named = found ? await store.resources.usages(found.record, mostUsers) : []
    const of = (plural: string) =>
      named.filter(({ kind }) => kinds.get(kind)?.plural === plural).map(({ name }) => name)
    return Object.fromEntries(users.map(plural => [plural, [...new Set(of(plural))]]))
  },
}

/** What a policy of a type is about; it says nothing without. */
const needs: Readonly<Record<string, string>> = { location: 'locations', flavor: 'flavors', maxToken: 'maxTokens' }

const admin = { role: 'admin' } as const

export const policyKind = defineKind({
  kind: 'policy',
  plural: 'policies',
  scope: 'policies',
  access: { create: admin, update: admin, delete: admin },
  spec,
  paginated: true,
  usage: users,
  keptWhileReferenced: true,
  actions: [usages],
  example: {
    create: {
      metadata: { name: 'eu-only' },
      spec: { type: 'location', locations: [{ name: 'eu', type: 'continent' }] },
    },
    update: { metadata: { displayName: 'Europe' }, spec: { locations: [{ name: 'fr', type: 'country' }] } },
  },
  check(given) {
    const type = given['type'] as string | undefined
    if (!type) throw fail('invalid_argument', { field: 'spec.type', reason: 'is missing' })
    const member = needs[type] as string
    if (!given[member])
      throw fail('invalid_argument', {
        field: `spec.${member}`,
        reason: `is missing in a policy of the type "${type}"`,
      })
  },
})
