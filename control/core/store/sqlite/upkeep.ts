import type { Database } from 'better-sqlite3'
import { sql } from 'kysely'
import { closeSync, openSync } from 'node:fs'
import type { Tallied, Upkeep } from '../store.ts'
import { messageOf } from '../../../../shared/errors.ts'
import { toApiKey } from './keys.ts'
import { query, type Prepare } from './prepared.ts'
import { readEach } from './read-json.ts'
import { toInstance, toResource } from './rows.ts'
import { labelsIn } from './workspace-row.ts'
import type { Remembered } from './remembered.ts'
import { translate, type Transact } from './transact.ts'

interface Parts {
  readonly db: Database
  readonly prepare: Prepare
  readonly transact: Transact
  /** What is remembered of records. */
  readonly ofRecords: Pick<Remembered, 'forget'>
}

/** Rows of one transaction: others wait for it. */
const batch = 200

const statements = (prepare: Prepare) => ({
  mark: prepare((given: { value: string }) =>
    query
      .insertInto('meta')
      .values({ key: 'written', value: given.value })
      .onConflict(conflict => conflict.column('key').doUpdateSet({ value: given.value })),
  ),
  resources: prepare((given: { kinds: string }) =>
    query
      .selectFrom('resources')
      .where('kind', 'in', sql<string>`(SELECT value FROM json_each(${given.kinds}))`)
      .groupBy(['kind', 'status'])
      .select(({ fn }) => ['kind', 'status', fn.countAll<number>().as('count')]),
  ),
  after: prepare((given: { uid: string }) =>
    query.selectFrom('resources').select(['uid', 'body']).where('uid', '>', given.uid).orderBy('uid').limit(batch),
  ),
  replace: prepare((given: { uid: string; body: string }) =>
    query
      .updateTable('resources')
      .set(({ eb }) => ({ body: given.body, version: eb('version', '+', 1) }))
      .where('uid', '=', given.uid),
  ),
  signingKeys: prepare(() => query.selectFrom('signing_keys').select(['kid', 'sealed'])),
  replaceSigningKey: prepare((given: { kid: string; sealed: string }) =>
    query.updateTable('signing_keys').set({ sealed: given.sealed }).where('kid', '=', given.kid),
  ),
  mails: prepare(() => query.selectFrom('mails').select(['id', 'sealed'])),
  replaceMail: prepare((given: { id: string; sealed: string }) =>
    query.updateTable('mails').set({ sealed: given.sealed }).where('id', '=', given.id),
  ),
  oauth: prepare(() => query.selectFrom('oauth_records').select(['type', 'id', 'payload'])),
  replaceOAuth: prepare((given: { type: string; id: string; payload: string }) =>
    query
      .updateTable('oauth_records')
      .set({ payload: given.payload })
      .where('type', '=', given.type)
      .where('id', '=', given.id),
  ),
  allResources: prepare(() => query.selectFrom('resources').selectAll()),
  allInstances: prepare(() => query.selectFrom('instances').selectAll()),
  allKeys: prepare(() => query.selectFrom('api_keys').selectAll()),
  allWorkspaces: prepare(() => query.selectFrom('workspaces').selectAll()),
  instances: prepare(() =>
    query
      .selectFrom('instances')
      .groupBy(['kind', 'status'])
      .select(({ fn }) => ['kind', 'status', fn.countAll<number>().as('count')]),
  ),
})

/** These are few, and each is one sealed value. */
const rewriteIdentity = (run: ReturnType<typeof statements>, change: (body: string) => string | undefined): void => {
  const changed = (value: string): string | undefined => {
    const text = change(JSON.stringify(value))
    return text === undefined ? undefined : (JSON.parse(text) as string)
  }
  for (const { kid, sealed } of run.signingKeys.all({})) {
    const now = changed(sealed)
    if (now !== undefined) run.replaceSigningKey.run({ kid, sealed: now })
  }
  for (const { id, sealed } of run.mails.all({})) {
    const now = changed(sealed)
    if (now !== undefined) run.replaceMail.run({ id, sealed: now })
  }
  for (const { type, id, payload } of run.oauth.all({})) {
    const now = changed(payload)
    if (now !== undefined) run.replaceOAuth.run({ type, id, payload: now })
  }
}

export const sqliteUpkeep = ({ db, prepare, transact, ofRecords }: Parts): Upkeep => {
  const { read, write } = transact
  const run = statements(prepare)
  let turn = 0
  return {
    tryWriting: () => write(() => void run.mark.run({ value: String(++turn) })),
    async copyTo(path) {
      // Its owner alone may read what it holds.
      closeSync(openSync(path, 'wx', 0o600))
      try {
        await db.backup(path)
      } catch (error) {
        throw translate(error)
      }
    },
    async rewrite(change) {
      await write(() => rewriteIdentity(run, change))
      for (let last: string | undefined = ''; last !== undefined; ) {
        const uid: string = last
        last = await write(() => {
          ofRecords.forget()
          const rows = run.after.all({ uid })
          for (const row of rows) {
            const body = change(row.body)
            if (body !== undefined) run.replace.run({ uid: row.uid, body })
          }
          return rows.at(-1)?.uid
        })
      }
    },
    unreadable: () =>
      read(() => {
        const said: string[] = []
        const say = (_row: unknown, error: unknown): void => void said.push(messageOf(error))
        readEach(run.allResources.all({}), toResource, say)
        readEach(run.allInstances.all({}), toInstance, say)
        readEach(run.allKeys.all({}), toApiKey, say)
        readEach(run.allWorkspaces.all({}), labelsIn, say)
        return said
      }),
    tally: kinds =>
      read(() => ({
        resources: run.resources.all({ kinds: JSON.stringify(kinds) }) as Tallied[],
        instances: run.instances.all({}) as Tallied[],
      })),
  }
}
