import type { Identity, OAuthRecord, SigningKey } from '../store.ts'
import { sqliteMails } from './mails.ts'
import { sqlitePeople } from './people.ts'
import { query, type Prepare } from './prepared.ts'
import type { OAuthRow, SigningKeyRow } from './identity-tables.ts'
import type { Transact } from './transact.ts'

const toRecord = (row: OAuthRow): OAuthRecord => ({
  type: row.type,
  id: row.id,
  payload: row.payload,
  grantId: row.grant_id,
  uid: row.uid,
  userCode: row.user_code,
  consumedAt: row.consumed_at,
  expiresAt: row.expires_at,
})

const toRow = (record: OAuthRecord): OAuthRow => ({
  type: record.type,
  id: record.id,
  payload: record.payload,
  grant_id: record.grantId,
  uid: record.uid,
  user_code: record.userCode,
  consumed_at: record.consumedAt,
  expires_at: record.expiresAt,
})

const toSigningKey = (row: SigningKeyRow): SigningKey => ({
  kid: row.kid,
  sealed: row.sealed,
  createdAt: row.created_at,
})

const finding = (prepare: Prepare) => {
  const by = (column: 'id' | 'uid' | 'user_code') =>
    prepare((given: { type: string; value: string }) =>
      query.selectFrom('oauth_records').selectAll().where('type', '=', given.type).where(column, '=', given.value),
    )
  return { id: by('id'), uid: by('uid'), userCode: by('user_code') }
}

const statements = (prepare: Prepare) => ({
  put: prepare((given: OAuthRow) =>
    query.replaceInto('oauth_records').values({
      type: given.type,
      id: given.id,
      payload: given.payload,
      grant_id: given.grant_id,
      uid: given.uid,
      user_code: given.user_code,
      consumed_at: given.consumed_at,
      expires_at: given.expires_at,
    }),
  ),
  consume: prepare((given: { type: string; id: string; now: number }) =>
    query
      .updateTable('oauth_records')
      .set({ consumed_at: given.now })
      .where('type', '=', given.type)
      .where('id', '=', given.id),
  ),
  remove: prepare((given: { type: string; id: string }) =>
    query.deleteFrom('oauth_records').where('type', '=', given.type).where('id', '=', given.id),
  ),
  removeGrant: prepare((given: { grantId: string }) =>
    query.deleteFrom('oauth_records').where('grant_id', '=', given.grantId),
  ),
  count: prepare((given: { type: string }) =>
    query
      .selectFrom('oauth_records')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('type', '=', given.type),
  ),
  sweep: prepare((given: { before: number }) =>
    query.deleteFrom('oauth_records').where('expires_at', '<', given.before),
  ),
  sweepLinks: prepare((given: { before: number }) => query.deleteFrom('links').where('expires_at', '<', given.before)),
  keys: prepare(() => query.selectFrom('signing_keys').selectAll().orderBy('created_at', 'desc').orderBy('kid')),
  addKey: prepare((given: SigningKey) =>
    query.insertInto('signing_keys').values({ kid: given.kid, sealed: given.sealed, created_at: given.createdAt }),
  ),
  removeKey: prepare((given: { kid: string }) => query.deleteFrom('signing_keys').where('kid', '=', given.kid)),
})

export const sqliteIdentity = (
  prepare: Prepare,
  transact: Transact,
  parts: Parameters<typeof sqlitePeople>[2],
): Identity => {
  const { look, write } = transact
  const find = finding(prepare)
  const run = statements(prepare)
  return {
    ...sqlitePeople(prepare, transact, parts),
    ...sqliteMails(prepare, transact),
    oauthRecord: (type, by, value) =>
      look(() => {
        const row = find[by].get({ type, value })
        return row && toRecord(row)
      }),
    putOAuthRecord: record => write(() => void run.put.run(toRow(record))),
    consumeOAuthRecord: (type, id, now) => write(() => void run.consume.run({ type, id, now })),
    removeOAuthRecord: (type, id) => write(() => void run.remove.run({ type, id })),
    removeOAuthGrant: grantId => write(() => void run.removeGrant.run({ grantId })),
    countOAuthRecords: type => look(() => run.count.get({ type })?.count ?? 0),
    sweepOAuthRecords: before =>
      write(() => {
        run.sweep.run({ before })
        run.sweepLinks.run({ before })
      }),
    signingKeys: () => look(() => run.keys.all({}).map(toSigningKey)),
    addSigningKey: key => write(() => void run.addKey.run(key)),
    removeSigningKeys: before =>
      write(() => {
        const [, ...older] = run.keys.all({})
        for (const { kid, created_at } of older) if (created_at < before) run.removeKey.run({ kid })
      }),
  }
}
