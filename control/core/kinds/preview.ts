/** A preview: an address under which one port of a sandbox is reached from outside. */
import { durationMs } from '../../../shared/durations.ts'
import { fail } from '../../../shared/errors.ts'
import { s, text, texts } from '../../../shared/schema.ts'
import { stateTable } from '../transitions/state-table.ts'
import { defineKind } from '../records/define-kind.ts'
import { hashKey } from '../access/keys.ts'
import { statuses, type Spec } from '../records/kind.ts'
import { innerMetadata } from '../records/metadata.ts'
import { sandboxFace } from './sandbox/kind.ts'
import type { Resource } from '../store/store.ts'
import { customDomainKind } from './custom-domain.ts'
import { duration, instant } from './shapes.ts'

const life = stateTable('DEPLOYED', {
  DEPLOYED: { broke: 'FAILED', delete: 'DELETING', expire: 'TERMINATED' },
  // Made when nothing served it; the next change brings it up.
  FAILED: { serve: 'DEPLOYED', delete: 'DELETING', expire: 'TERMINATED' },
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
  hostHeader: s.nullish(s.enum(['localhost', 'preview'])),
  expires: s.nullish(instant),
  ttl: s.nullish(duration),
  requestHeaders: s.nullish(texts(256)),
  responseHeaders: s.nullish(texts(256)),
})

const member = (given: Spec, name: string): string => (given[name] as string | undefined) ?? ''

/** The custom domain that a preview is on, and what stands before it there; undefined for none. */
export const customHostOf = ({ name, spec: given }: Pick<Resource, 'name' | 'spec'>) => {
  const domain = member(given, 'customDomain')
  return domain ? { domain, label: member(given, 'prefixUrl') || name } : undefined
}

/** When it ends, and by which rule; the first one reached. */
const expiryOf = ({ spec: given, createdAt }: Resource) => {
  const [ttl, expires] = [member(given, 'ttl'), member(given, 'expires')]
  const rules = [
    ...(ttl ? [{ at: createdAt + durationMs(ttl, 'spec.ttl'), rule: `ttl ${ttl}` }] : []),
    ...(expires ? [{ at: Date.parse(expires), rule: `expires ${expires}` }] : []),
  ]
  return rules.toSorted((a, b) => a.at - b.at)[0]
}

/** The same for a preview of the same name in the same sandbox, whenever it is made. */
const idOf = ({ workspace, parent, name }: Pick<Resource, 'workspace' | 'parent' | 'name'>): string =>
  BigInt(`0x${hashKey(`${workspace}/${parent}/${name}`)}`)
    .toString(36)
    .slice(0, 20)

/** Headers that belong to a connection or say where a message ends: nobody else's to set. */
const framing = /^(connection|content-length|expect|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i

/** Throws `invalid_argument` for what cannot be sent as a header. */
const checkHeader = (field: string, name: string, value: string): void => {
  const refuse = (reason: string) => fail('invalid_argument', { field, reason })
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) throw refuse('is not a name of a header')
  if (framing.test(name)) throw refuse('cannot be set')
  if (!/^[\t\x20-\x7e]*$/.test(value)) throw refuse('has characters that no header can carry')
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
  claims(given, name) {
    const host = `${member(given, 'prefixUrl') || name}.${member(given, 'customDomain')}`
    return [
      ...(given['prefixUrl'] || given['customDomain'] ? [host] : []),
      // Its workspace may share the domain with others.
      ...(given['customDomain'] ? [`/${host}`] : []),
      ...(given['previewId'] ? [`id:${member(given, 'previewId')}`] : []),
    ]
  },
  issue: (draft, { parents: [sandbox] }) => ({
    spec: { previewId: idOf(draft), region: member(sandbox?.spec ?? {}, 'region') },
  }),
  consequence: ({ status }) => (status === 'FAILED' ? { event: 'serve', message: 'served from now on' } : undefined),
  presentSpec({ spec: stored }, { url }) {
    const { previewId: _, ...shown } = stored
    return { ...shown, ...(url ? { url } : {}) }
  },
  example: {
    create: { metadata: { name: 'app' }, spec: { port: 3000, public: true, responseHeaders: { 'X-App': 'a' } } },
    update: { metadata: { displayName: 'App' }, spec: { port: 3001 } },
  },
  check(given) {
    if (given['port'] === undefined) throw fail('invalid_argument', { field: 'spec.port', reason: 'is missing' })
    for (const headers of ['requestHeaders', 'responseHeaders'])
      for (const [name, value] of Object.entries((given[headers] ?? {}) as Record<string, string>))
        checkHeader(`spec.${headers}.${name}`, name, value)
  },
})
