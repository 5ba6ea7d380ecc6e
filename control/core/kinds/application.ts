/** An application: a web server of the customer's at an address of its own, deployed in revisions. */
import { s, text, type Out } from '../../../shared/schema.ts'
import type { Action } from '../records/action.ts'
import { bodyOf } from '../records/body.ts'
import { create } from '../records/create.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Spec } from '../records/kind.ts'
import { answerOf } from '../records/present.ts'
import { revisionsOf, type Revision } from '../records/revisions.ts'
import { openSpec, type SealedMember } from '../records/sealing.ts'
import { env } from './sandbox/spec.ts'
import type { WireNames } from '../../../shared/wire-names.ts'
import type { Resource } from '../store/store.ts'
import { plainContent } from '../workloads/content.ts'
import { served, type ServedFace } from '../workloads/kind.ts'
import type { WorkloadDeps } from '../workloads/workload.ts'
import { customDomainKind } from './custom-domain.ts'
import { namedPolicies } from './named.ts'
import { nameList } from './shapes.ts'
import { runtimeEntrypoint } from './workload.ts'
import { revisionConfig } from './revisions.ts'

const envs = s.nullish(s.array(env).check(s.maxLength(1000)))
const image = s.nullish(text(512))
const memory = s.nullish(s.int().check(s.gte(64), s.lte(262_144)))
const port = s.nullish(s.int().check(s.gte(1), s.lte(65_535)))

/** May be sent beside the rest of the spec, or as the first of its revisions. */
const compute = { entrypoint: runtimeEntrypoint, envs, image, memory, port }

const bindToSandbox = 'experimental/bind-to-sandbox'

const anyOf = (words: readonly string[]): RegExp =>
  new RegExp(`^(${words.map(word => word.replaceAll('.', '\\.')).join('|')})$`)

const givenWith = (extensions: readonly string[]) =>
  s.object({
    ...compute,
    enabled: s.nullish(s.boolean()),
    extensions: s.nullish(
      s.record(text(160).check(s.regex(anyOf(extensions), 'is not known')), s.object({ sandbox: s.nullish(text(63)) })),
    ),
    policies: nameList,
    proxy: s.nullish(s.boolean()),
    region: s.nullish(text(63)),
    revision: s.nullish(revisionConfig),
    revisions: s.nullish(s.array(s.looseObject(compute)).check(s.maxLength(100))),
    urls: s.nullish(s.array(s.object({ domain: text(253), subdomain: s.nullish(text(63)) })).check(s.maxLength(100))),
  })

/** Members beside the revisions win over those of the first one. */
const lifted = ({ revisions, ...spec }: Out<ReturnType<typeof givenWith>>) => {
  const first = (revisions?.[0] ?? {}) as Spec
  const members = Object.keys(compute).filter(name => first[name] !== undefined && first[name] !== null)
  return { ...Object.fromEntries(members.map(name => [name, first[name]])), ...spec }
}

const sealed: readonly SealedMember[] = [{ at: ['envs'], as: 'envs' }]
const revisionAnswer = s.looseObject({ id: s.string(), createdAt: s.string(), createdBy: s.string() })

const revisionOf = ({ id, createdAt, createdBy, spec: kept }: Revision) => {
  const masked = openSpec(kept, sealed, undefined)
  const members = Object.keys(compute).filter(name => masked[name] !== undefined)
  return { id, createdAt, createdBy, ...Object.fromEntries(members.map(name => [name, masked[name]])) }
}

/** Newest first. */
const revisionsIn = (record: Resource) => revisionsOf(record).all.toReversed().map(revisionOf)

const listRevisions: Action = {
  name: 'revisions',
  summary: 'Lists the revisions that are kept, newest first',
  method: 'GET',
  path: 'revisions',
  on: 'record',
  access: { scope: 'applications:list', role: 'member' },
  returns: s.array(revisionAnswer),
  run: async (_context, { found }) => (found ? revisionsIn(found.record) : []),
}

/** The domain is an ordinary one, of the type `applications`. */
const addDomain: Action = {
  name: 'addCustomDomain',
  summary: 'Creates a custom domain for applications',
  method: 'POST',
  path: 'customdomains',
  on: 'record',
  access: { scope: 'customdomains:create', role: 'member' },
  body: bodyOf(customDomainKind),
  returns: answerOf(customDomainKind),
  errors: ['already_exists'],
  async run(context, { actor, body }) {
    const kind = context.kinds.get(customDomainKind.kind) ?? customDomainKind
    const asked = (body ?? {}) as { metadata?: object; spec?: object }
    return create({ ...context, kind }, actor, { ...asked, spec: { ...asked.spec, domainType: 'applications' } })
  },
}

const face: ServedFace = {
  label: 'app',
  scope: 'applications:get',
  dimension: 'agent_compute_runtime_gbs',
  contentOf: plainContent,
  isPublic: () => true,
}

export const applicationKind = ({ extension }: Pick<WireNames, 'extension'>, deps?: WorkloadDeps) =>
  defineKind({
    ...served(deps, face),
    kind: 'application',
    plural: 'applications',
    scope: 'applications',
    spec: s.pipe(givenWith(extension(bindToSandbox)), s.transform(lifted)),
    fallback: { enabled: true, memory: 2048, port: 8080, proxy: false },
    absent: 'clear',
    sealed,
    uploads: true,
    imageAt: ['image'],
    paginated: true,
    actions: [listRevisions, addDomain],
    answers: { spec: s.looseObject({ revisions: s.array(revisionAnswer) }) },
    presentSpec: ({ spec: shown, internal }) => ({ ...shown, revisions: revisionsIn({ internal } as Resource) }),
    references: stored => [
      ...namedPolicies(stored),
      ...((stored['urls'] ?? []) as readonly { domain: string }[]).map(({ domain: name }, at) => ({
        field: `spec.urls.${at}.domain`,
        kind: customDomainKind.kind,
        parent: '',
        name,
        exceptStatuses: ['pending', 'failed'],
      })),
    ],
    claims: stored =>
      ((stored['urls'] ?? []) as readonly { domain: string; subdomain?: string }[]).map(
        ({ domain, subdomain = '' }) => `${subdomain}.${domain}`,
      ),
    example: {
      create: { metadata: { name: 'site' }, spec: { image: 'application/site:1', port: 3000 } },
      update: { spec: { revisions: [{ image: 'application/site:2', memory: 1024, port: 3000 }] } },
    },
  })
