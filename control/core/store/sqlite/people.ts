import type { Identity, Link, Person } from '../store.ts'
import type { Auditing } from './audit.ts'
import type { LinkRow } from './identity-tables.ts'
import type { Memberships } from './memberships.ts'
import { subjectAt, type ChangePeople } from './people-changes.ts'
import { toPerson } from './person-row.ts'
import { one, query, type Prepare } from './prepared.ts'
import type { Transact } from './transact.ts'

const toLink = (row: LinkRow): Link => ({
  hash: row.hash,
  purpose: row.purpose,
  subject: row.subject,
  expiresAt: row.expires_at,
})

const reading = (prepare: Prepare) => ({
  sub: prepare((given: { value: string }) => query.selectFrom('people').selectAll().where('sub', '=', given.value)),
  email: prepare((given: { value: string }) => query.selectFrom('people').selectAll().where('email', '=', given.value)),
  all: prepare(() => query.selectFrom('people').selectAll().orderBy('email')),
  any: prepare(() => query.selectFrom('people').select('sub').limit(one)),
  identified: prepare((given: { issuer: string; subject: string }) =>
    query
      .selectFrom('identities')
      .select('sub')
      .where('issuer', '=', given.issuer)
      .where('subject', '=', given.subject),
  ),
  subjectAt: subjectAt(prepare),
  link: prepare((given: { hash: string; now: number }) =>
    query.selectFrom('links').selectAll().where('hash', '=', given.hash).where('expires_at', '>', given.now),
  ),
})

type People = Pick<
  Identity,
  'person' | 'people' | 'hasPeople' | 'identified' | 'subjectAt' | 'membershipsOf' | 'link' | 'change'
>

export const sqlitePeople = (
  prepare: Prepare,
  { look, write }: Transact,
  parts: { auditing: Pick<Auditing, 'add'>; change: ChangePeople; memberships: Pick<Memberships, 'of'> },
): People => {
  const run = reading(prepare)
  const find = (by: 'sub' | 'email', value: string): Person | undefined => {
    const row = run[by].get({ value })
    return row && toPerson(row)
  }
  return {
    person: (by, value) => look(() => find(by, value)),
    people: () => look(() => run.all.all({}).map(toPerson)),
    hasPeople: () => look(() => run.any.get({}) !== undefined),
    identified: by =>
      look(() => {
        const row = run.identified.get(by)
        return row && find('sub', row.sub)
      }),
    subjectAt: (issuer, sub) => look(() => run.subjectAt.get({ issuer, sub })?.subject),
    membershipsOf: sub => look(() => parts.memberships.of(sub).map(({ uid }) => uid)),
    link: (hash, now) =>
      look(() => {
        const row = run.link.get({ hash, now })
        return row && toLink(row)
      }),
    change: (changes, audit, now) =>
      write(() => {
        for (const one of changes) parts.change(one, now)
        for (const entry of audit) parts.auditing.add(entry, now)
      }),
  }
}
