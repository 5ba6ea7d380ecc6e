/** The audit as rows. A row's hash is over the hash before it and all of its members, in their order. */
import { createHash } from 'node:crypto'
import type { Audit, AuditEntry, AuditHead, AuditPage, AuditQuery, AuditRecord, AuditVerdict } from '../store.ts'
import { readJson } from './read-json.ts'
import { one, query, type Prepare } from './prepared.ts'
import type { AuditRow } from './tables.ts'
import type { Transact } from './transact.ts'
import type { WorkspaceRows } from './workspaces.ts'

const none: AuditHead = { seq: 0, hash: '' }

const hashOf = (before: string, row: Omit<AuditRow, 'hash'>): string => {
  const { seq, time, account, workspace, actor, credential, remote, request_id, action, kind, name, uid, detail } = row
  const members = [
    seq,
    time,
    account,
    workspace,
    actor,
    credential,
    remote,
    request_id,
    action,
    kind,
    name,
    uid,
    detail,
  ]
  return createHash('sha256')
    .update(`${before}\n${JSON.stringify(members)}`)
    .digest('hex')
}

const toRecord = ({ request_id: requestId, detail, ...row }: AuditRow): AuditRecord => ({
  ...row,
  requestId,
  detail: readJson<Record<string, unknown>>(detail, { table: 'audit', row: String(row.seq), column: 'detail' }),
})

const newest = query.selectFrom('audit').selectAll().orderBy('seq', 'desc')

const statements = (prepare: Prepare) => ({
  last: prepare(() => newest.limit(one)),
  at: prepare((given: { seq: number }) => query.selectFrom('audit').selectAll().where('seq', '=', given.seq)),
  after: prepare((given: { seq: number; limit: number }) =>
    query.selectFrom('audit').selectAll().where('seq', '>', given.seq).orderBy('seq').limit(given.limit),
  ),
  ofAccount: prepare((given: { account: string; before: number; limit: number }) =>
    newest.where('account', '=', given.account).where('seq', '<', given.before).limit(given.limit),
  ),
  ofWorkspace: prepare((given: { account: string; workspace: string; before: number; limit: number }) =>
    newest
      .where('account', '=', given.account)
      .where('workspace', '=', given.workspace)
      .where('seq', '<', given.before)
      .limit(given.limit),
  ),
  add: prepare((given: AuditRow) =>
    query.insertInto('audit').values({
      seq: given.seq,
      time: given.time,
      account: given.account,
      workspace: given.workspace,
      actor: given.actor,
      credential: given.credential,
      remote: given.remote,
      request_id: given.request_id,
      action: given.action,
      kind: given.kind,
      name: given.name,
      uid: given.uid,
      detail: given.detail,
      hash: given.hash,
    }),
  ),
})

/** Adds to the audit; must run inside a transaction. */
export const auditing = (prepare: Prepare, workspaces: Pick<WorkspaceRows, 'find'>) => {
  const run = statements(prepare)
  return {
    run,
    add(entry: AuditEntry, now: number): void {
      const { seq, hash: before } = run.last.get({}) ?? none
      const { requestId, detail, ...rest } = entry
      const account = entry.account || (workspaces.find(entry.workspace)?.account ?? '')
      const row = { ...rest, account, seq: seq + 1, time: now, request_id: requestId, detail: JSON.stringify(detail) }
      run.add.run({ ...row, hash: hashOf(before, row) })
    },
  }
}

export type Auditing = ReturnType<typeof auditing>

/** Rows that are read in one go, and how often a listing does so: a filter that fits little must not hold everybody up. */
const chunk = 500
const mostChunks = 20

const fits =
  ({ actor, action, kind, name, from = 0, to = Infinity }: AuditQuery) =>
  (row: AuditRow): boolean =>
    (actor === undefined || row.actor === actor) &&
    (action === undefined || row.action === action) &&
    (kind === undefined || row.kind === kind) &&
    (name === undefined || row.name === name) &&
    row.time >= from &&
    row.time <= to

const list = ({ run }: Auditing, asked: AuditQuery): AuditPage => {
  const { account, workspace, limit } = asked
  const wanted = fits(asked)
  const records: AuditRecord[] = []
  let before = asked.before ?? Number.MAX_SAFE_INTEGER
  for (let round = 0; round < mostChunks; round++) {
    const given = { account, before, limit: chunk }
    const rows = workspace === undefined ? run.ofAccount.all(given) : run.ofWorkspace.all({ ...given, workspace })
    for (const row of rows) {
      if (records.length === limit) return { records, next: before }
      before = row.seq
      if (wanted(row)) records.push(toRecord(row))
    }
    const last = rows.at(-1)
    // Times grow with the numbers: nothing older fits.
    if (rows.length < chunk || (last && last.time < (asked.from ?? 0))) return { records, next: undefined }
  }
  return { records, next: before }
}

const wrong = (row: AuditRow, { seq, hash }: AuditHead): string | undefined => {
  if (row.seq !== seq + 1) return `rows ${seq + 1} to ${row.seq - 1} are missing`
  return row.hash === hashOf(hash, row) ? undefined : 'it is not what was written'
}

const verify = ({ run }: Auditing, known: AuditHead | undefined): AuditVerdict => {
  let head = none
  for (;;) {
    const rows = run.after.all({ seq: head.seq, limit: chunk })
    for (const row of rows) {
      const reason = wrong(row, head)
      if (reason) return { head, broken: { seq: row.seq, reason } }
      head = { seq: row.seq, hash: row.hash }
    }
    if (rows.length === 0) break
  }
  if (!known || known.seq === 0) return { head }
  const row = run.at.get({ seq: known.seq })
  if (row?.hash === known.hash) return { head }
  return { head, broken: { seq: known.seq, reason: row ? 'it is another one than was known' : 'it is missing' } }
}

export const sqliteAudit = (auditor: Auditing, { look, read, write }: Transact): Audit => ({
  list: asked => look(() => list(auditor, asked)),
  append: (entries, now) =>
    write(() => {
      for (const entry of entries) auditor.add(entry, now)
    }),
  head: () =>
    look(() => {
      const { seq, hash } = auditor.run.last.get({}) ?? none
      return { seq, hash }
    }),
  verify: known => read(() => verify(auditor, known)),
})
