/** The other resources that specs of several kinds name. */
import type { Reference } from '../store/store.ts'
import { connectionKind } from './connection.ts'
import { policyKind } from './policy.ts'

type Spec = Readonly<Record<string, unknown>>

const listed = (spec: Spec, member: string, kind: string): Reference[] =>
  ((spec[member] ?? []) as readonly string[]).map((name, at) => ({
    field: `spec.${member}.${at}`,
    kind,
    parent: '',
    name,
  }))

export const namedPolicies = (spec: Spec): Reference[] => listed(spec, 'policies', policyKind.kind)

export const namedConnections = (spec: Spec): Reference[] => listed(spec, 'integrationConnections', connectionKind.kind)
