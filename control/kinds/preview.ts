/** A preview: an address under which one port of a sandbox is reached from outside. Its record; nothing serves it yet. */
import { durationMs } from '../../shared/durations.ts'
import { fail } from '../../shared/errors.ts'
import { s, text, texts } from '../../shared/schema.ts'
import { stateTable } from '../reconcile/state-table.ts'
import { defineKind } from '../resources/define-kind.ts'
import { statuses, type Spec } from '../resources/kind.ts'
import { innerMetadata } from '../resources/metadata.ts'
import { sandboxFace } from '../sandbox/kind.ts'
import type { Resource } from '../store/store.ts'
import { customDomainKind } from './custom-domain.ts'
import { duration, instant } from './shapes.ts'

const life = stateTable('FAILED', {
  FAILED: { delete: 'DELETING', expire: 'TERMINATED' },
  DELETING: { delete: 'DELETING' },
  TERMINATED: { delete: 'TERMINATED' },
})

const spec = s.object({
  port: s.nullish(
    s.int().check(
      s.gte(1),
      s.lte(65_535),
      s.refine(port => port !== 80, 'must not be 80'),
    ),
  ),
  public: s.nullish(s.boolean()),
  prefixUrl: s.nullish(text(49).check(s.regex(/^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$/, 'must be a host label'))),
  customDomain: s.nullish(text(253)),
  expires: s.nullish(instant),
  ttl: s.nullish(duration),
  requestHeaders: s.nullish(texts(256)),
  responseHeaders: s.nullish(texts(256)),
})

const member = (given: Spec, name: string): string => (given[name] as string | undefined) ?? ''

/** When it ends, and by which rule; the first one reached. */
const expiryOf = ({ spec: given, createdAt }: Resource) => {
  const [ttl, expires] = [member(given, 'ttl'), member(given, 'expires')]
  const rules = [
    ...(ttl ? [{ at: createdAt + durationMs(ttl, 'spec.ttl'), rule: `ttl ${ttl}` }] : []),
    ...(expires ? [{ at: Date.parse(expires), rule: `expires ${expires}` }] : []),
  ]
  return rules.toSorted((a, b) => a.at - b.at)[0]
}

export const previewKind = defineKind({
  kind: 'preview',
  plural: 'previews',
  scope: 'sandboxes',
  parent: defineKind(sandboxFace),
  access: { list: { scope: 'sandboxes:get' } },
  metadata: innerMetadata({ outer: ['resourceName'], fixed: { resourceType: sandboxFace.kind } }),
  spec,
  fallback: { public: false },
  life,
  statuses,
  createdMessage: () => 'this host does not serve previews yet',
  hiddenStatuses: ['TERMINATED'],
  replaceableStatuses: ['TERMINATED'],
  expiry: expiryOf,
  statusAt({ record }, now) {
    const expiry = expiryOf(record)
    return expiry && expiry.at <= now && life.allows(record.status, 'expire') ? 'TERMINATED' : record.status
  },
  references: given =>
    given['customDomain']
      ? [
          {
            field: 'spec.customDomain',
            kind: customDomainKind.kind,
            parent: '',
            name: member(given, 'customDomain'),
            exceptStatuses: ['pending', 'failed'],
          },
        ]
      : [],
  // Two of one address would be one too many.
  claims: (given, name) =>
    given['prefixUrl'] || given['customDomain']
      ? [`${member(given, 'prefixUrl') || name}.${member(given, 'customDomain')}`]
      : [],
  example: {
    create: { metadata: { name: 'app' }, spec: { port: 3000, public: true, responseHeaders: { 'X-App': 'a' } } },
    update: { metadata: { displayName: 'App' }, spec: { port: 3001 } },
  },
  check(given) {
    if (given['port'] === undefined) throw fail('invalid_argument', { field: 'spec.port', reason: 'is missing' })
  },
})
