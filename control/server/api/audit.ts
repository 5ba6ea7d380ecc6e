/** `/v0/audit`: what was done, by whom. */
import type { Writable } from 'node:stream'
import { once } from 'node:events'
import { fail } from '../../../shared/errors.ts'
import { handle, reply, route, type Bound, type Context, type Pump } from '../../../shared/route.ts'
import { isInstant } from '../../../shared/instant.ts'
import { flag, intText, s, text } from '../../../shared/schema.ts'
import type { Denials } from '../access/audit/denials.ts'
import type { Access } from '../../core/access/access.ts'
import type { AuditQuery, AuditRecord, Store } from '../../core/store/store.ts'
import { tenantQuery } from './paging.ts'
import { factsOf } from './surface.ts'

const access: Access = { scope: 'admin', role: 'admin' }

const record = s.object({
  seq: s.int(),
  time: s.string(),
  account: s.string(),
  workspace: s.string(),
  actor: s.string(),
  credential: s.string(),
  remote: s.string(),
  requestId: s.string(),
  action: s.string(),
  kind: s.string(),
  name: s.string(),
  uid: s.string(),
  detail: s.record(s.string(), s.unknown()),
  hash: s.string(),
})

const instant = s.optional(s.string().check(s.refine(isInstant, 'must be an ISO 8601 instant')))
const word = s.optional(text(256))

const maxPage = 1_000

export const listAudit = route('GET /v0/audit', {
  id: 'audit.list',
  summary: 'Lists what was done and denied in a workspace, newest first; with format=jsonl all of it, a line each',
  family: 'audit',
  extra: { access },
  query: s.object({
    ...tenantQuery,
    /** Of the whole account; for its admins. */
    everyWorkspace: flag(),
    actor: word,
    action: word,
    kind: word,
    name: word,
    from: instant,
    to: instant,
    limit: intText(1, maxPage),
    cursor: intText(1),
    format: s.optional(s.enum(['json', 'jsonl'])),
  }),
  returns: s.object({
    data: s.array(record),
    meta: s.object({ hasMore: s.boolean(), nextCursor: s.string() }),
  }),
  produces: ['application/x-ndjson'],
  errors: ['invalid_argument'],
})

export const auditHead = route('GET /v0/audit/head', {
  id: 'audit.head',
  summary: 'Answers where the chain ends: kept elsewhere, it shows later that nothing was cut off',
  family: 'audit',
  extra: { access },
  query: s.object(tenantQuery),
  returns: s.object({ seq: s.int(), hash: s.string() }),
})

interface Deps {
  readonly store: Pick<Store, 'audit'>
  readonly denials: Pick<Denials, 'flush'>
}

const present = ({ time, ...rest }: AuditRecord) => ({
  ...rest,
  detail: { ...rest.detail },
  time: new Date(time).toISOString(),
})

/** What the caller may see. Throws `forbidden` for the whole account. */
const reachOf = (context: Context, wantsAll: boolean): Pick<AuditQuery, 'account' | 'workspace'> => {
  const { key, workspace } = factsOf(context)
  if (!wantsAll) return { account: workspace.account, workspace: workspace.name }
  if (!key.accountAdmin || key.workspace !== null)
    throw fail('forbidden', { reason: 'this needs an admin of the account' })
  return { account: key.account }
}

const lines =
  ({ store }: Deps, asked: AuditQuery): Pump =>
  async (out: Writable, signal: AbortSignal) => {
    let { before } = asked
    do {
      const { records, next } = await store.audit.list({ ...asked, before, limit: maxPage })
      const written = out.write(records.map(one => `${JSON.stringify(present(one))}\n`).join(''))
      if (!written) await once(out, 'drain', { signal })
      before = next
    } while (before !== undefined && !signal.aborted)
  }

export const auditRoutes = (deps: Deps): Bound[] => [
  handle(listAudit, async ({ query }, context) => {
    const { actor, action, kind, name, from, to, limit = 50, cursor, format, everyWorkspace } = query
    const asked: AuditQuery = {
      ...reachOf(context, everyWorkspace),
      actor,
      action,
      kind,
      name,
      from: from === undefined ? undefined : Date.parse(from),
      to: to === undefined ? undefined : Date.parse(to),
      before: cursor,
      limit,
    }
    await deps.denials.flush()
    if (format === 'jsonl')
      return reply(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' }, lines(deps, asked))
    const { records, next } = await deps.store.audit.list(asked)
    return {
      data: records.map(present),
      meta: { hasMore: next !== undefined, nextCursor: next === undefined ? '' : String(next) },
    }
  }),
  handle(auditHead, async () => {
    await deps.denials.flush()
    return { ...(await deps.store.audit.head()) }
  }),
]
