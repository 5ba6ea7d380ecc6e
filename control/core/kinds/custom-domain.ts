/** A domain of a customer's own: pending until its DNS has the record that proves who owns it, and leads here. */
import { s, text } from '../../../shared/schema.ts'
import { stateTable } from '../transitions/state-table.ts'
import type { Action } from '../records/action.ts'
import { defineKind } from '../records/define-kind.ts'
import { withInstances } from '../records/context.ts'
import type { Dns } from '../../base/dns.ts'
import type { Found, Spec } from '../records/kind.ts'
import { commonMetadata, presentMetadata } from '../records/metadata.ts'
import { domainNames } from '../records/naming.ts'
import { answer } from '../records/context.ts'
import type { Resource } from '../store/store.ts'
import { needOwned, needUnshared, shareActions, sharedFrom } from './domain-shares.ts'

const life = stateTable('pending', {
  pending: { verified: 'verified', failed: 'failed', delete: 'deleted' },
  // A check that fails later does not take a domain away from what uses it.
  verified: { verified: 'verified', failed: 'verified', delete: 'deleted' },
  failed: { verified: 'verified', failed: 'failed', delete: 'deleted' },
  deleted: { delete: 'deleted' },
})

const answered = s.looseObject({
  status: s.enum(['pending', 'verified', 'failed']),
  domainType: s.enum(['previews', 'applications']),
  txtRecords: s.record(s.string(), s.string()),
  cnameRecords: s.string(),
  lastVerifiedAt: s.optional(s.string()),
  verificationError: s.optional(s.string()),
})

/** What keeps a domain from being verified; undefined when nothing does. */
const obstacle = async ({ name, spec: given }: Resource, dns: Dns): Promise<string | undefined> => {
  for (const [at, value] of Object.entries(given['txtRecords'] as Record<string, string>))
    if (!(await dns.txt(at)).includes(value)) return `no TXT record "${value}" at ${at}`
  // Previews are below the domain; an application is at it.
  const leading = given['domainType'] === 'previews' ? `*.${name}` : name
  const target = given['cnameRecords'] as string
  if (await dns.leadsTo(leading, target)) return undefined
  return `${leading} does not lead to ${target}: it needs a CNAME record`
}

const isVerified = (spec: Spec): boolean => spec['lastVerifiedAt'] !== undefined && !sharedFrom({ spec })

const verify: Action = {
  name: 'verify',
  summary: 'Looks for the record that proves who owns a domain; can be repeated',
  method: 'POST',
  path: 'verify',
  on: 'record',
  access: { scope: 'customdomains:update', role: 'member' },
  errors: ['already_exists', 'changed_meanwhile', 'wrong_state'],
  async run(context, { found }) {
    const { record } = found as Found
    needOwned(record, 'a verification')
    const { kind, transition, clock, dns } = context
    const error = await obstacle(record, dns)
    const { verificationError: _, ...spec } = record.spec
    const at = new Date(clock.now()).toISOString()
    const written = await transition.write([
      {
        record,
        event: error ? { name: 'failed', message: error } : { name: 'verified', message: `${record.name} verified` },
        change: { spec: error ? { ...spec, verificationError: error } : { ...spec, lastVerifiedAt: at } },
      },
    ])
    return answer(context, await withInstances(context, kind, written.resources[0] ?? record))
  },
}

const metadata = {
  ...commonMetadata,
  takes: ['displayName', 'labels'],
  shows: ['createdAt', 'updatedAt', 'createdBy', 'updatedBy', 'sharedFromWorkspace'],
} as const

export const customDomainKind = defineKind({
  kind: 'customDomain',
  plural: 'customdomains',
  param: 'domainName',
  scope: 'customdomains',
  metadata,
  names: domainNames,
  spec: s.object({
    domainType: s.nullish(s.enum(['previews', 'applications'])),
    fallbackPreviewId: s.nullish(text(256)),
    region: s.nullish(text(63)),
    subjectAlternativeNames: s.nullish(s.array(s.unknown()).check(s.maxLength(100))),
  }),
  fallback: { domainType: 'previews' },
  lostSpec: () => ({ domainType: 'previews', txtRecords: {}, cnameRecords: '' }),
  answers: { spec: answered },
  life,
  statusMember: 'status',
  keptWhileReferenced: true,
  // Its requests go to one owner, whoever else has said that it is theirs.
  claims: (given, name) => (isVerified(given) ? [`/${name}`] : []),
  actions: [verify, ...shareActions],
  // A share is as good as the domain.
  initialStatus: spec => (sharedFrom({ spec }) ? 'verified' : life.initial),
  check(_spec, previous) {
    if (previous) needOwned(previous, 'an update')
  },
  beforeRemoval: needUnshared,
  present({ record }) {
    const owner = sharedFrom(record)
    if (!owner) return {}
    return {
      metadata: { ...presentMetadata(record, metadata, { url: undefined, plan: '' }), sharedFromWorkspace: owner },
    }
  },
  presentSpec({ spec }) {
    const { sharedFromWorkspace: _, ...shown } = spec
    return shown
  },
  issue: ({ name }, { ids, domain }) => ({
    spec: { txtRecords: { [`_hutch-verify.${name}`]: `hutch-verify=${ids.secret(18)}` }, cnameRecords: domain },
  }),
  example: {
    create: { metadata: { name: 'apps.example.org' }, spec: { region: 'local' } },
    update: { metadata: { displayName: 'Apps' }, spec: { fallbackPreviewId: 'p-1' } },
  },
})
