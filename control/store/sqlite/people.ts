import { fail } from '../../../shared/errors.ts'
import type { Identity, Link, Person } from '../store.ts'
import type { Auditing } from './audit.ts'
import type { LinkRow, PersonRow } from './identity-tables.ts'
import { query, type Prepare } from './prepared.ts'
import { isDuplicate, type Transact } from './transact.ts'

const toPerson = (row: PersonRow): Person => ({
  sub: row.sub,
  account: row.account,
  email: row.email,
  name: row.name,
  password: row.password,
  accountAdmin: row.account_admin === 1,
  createdAt: row.created_at,
})

const toLink = (row: LinkRow): Link => ({
  hash: row.hash,
  purpose: row.purpose,
  subject: row.subject,
  expiresAt: row.expires_at,
})

const statements = (prepare: Prepare) => ({
  sub: prepare((given: { value: string }) => query.selectFrom('people').selectAll().where('sub', '=', given.value)),
  email: prepare((given: { value: string }) => query.selectFrom('people').selectAll().where('email', '=', given.value)),
  any: prepare(() => query.selectFrom('people').select('sub').limit(1)),
  add: prepare((given: Omit<Person, 'accountAdmin'> & { admin: number }) =>
    query.insertInto('people').values({
      sub: given.sub,
      account: given.account,
      email: given.email,
      name: given.name,
      password: given.password,
      account_admin: given.admin,
      created_at: given.createdAt,
    }),
  ),
  removeLinks: prepare((given: { purpose: string; subject: string }) =>
    query.deleteFrom('links').where('purpose', '=', given.purpose).where('subject', '=', given.subject),
  ),
  addLink: prepare((given: Link) =>
    query.insertInto('links').values({
      hash: given.hash,
      purpose: given.purpose,
      subject: given.subject,
      expires_at: given.expiresAt,
    }),
  ),
  link: prepare((given: { hash: string; now: number }) =>
    query.selectFrom('links').selectAll().where('hash', '=', given.hash).where('expires_at', '>', given.now),
  ),
  takeLink: prepare((given: { hash: string; now: number }) =>
    query.deleteFrom('links').where('hash', '=', given.hash).where('expires_at', '>', given.now),
  ),
})

type People = Pick<Identity, 'person' | 'hasPeople' | 'addPerson' | 'putLink' | 'link'>

export const sqlitePeople = (prepare: Prepare, { look, write }: Transact, auditing: Pick<Auditing, 'add'>): People => {
  const run = statements(prepare)
  return {
    person: (by, value) =>
      look(() => {
        const row = run[by].get({ value })
        return row && toPerson(row)
      }),
    hasPeople: () => look(() => run.any.get({}) !== undefined),
    addPerson: (person, hash, audit) =>
      write(() => {
        const { createdAt: now, accountAdmin } = person
        if (run.takeLink.run({ hash, now }) === 0) throw fail('not_found', { kind: 'link', name: 'it' })
        try {
          run.add.run({ ...person, admin: accountAdmin ? 1 : 0 })
        } catch (error) {
          if (isDuplicate(error)) throw fail('already_exists', { kind: 'person', name: person.email }, error)
          throw error
        }
        auditing.add(audit, now)
      }),
    putLink: link =>
      write(() => {
        run.removeLinks.run(link)
        run.addLink.run(link)
      }),
    link: (hash, now) =>
      look(() => {
        const row = run.link.get({ hash, now })
        return row && toLink(row)
      }),
  }
}
