/** What is written about people, and only inside a transaction. */
import { fail } from '../../../../shared/errors.ts'
import type { IdentityChange, Link, Mail, Person } from '../store.ts'
import type { PersonRow } from './identity-tables.ts'
import { ownedKeys } from './owned-keys.ts'
import { query, type Prepare } from './prepared.ts'
import type { Remembered } from './remembered.ts'
import { toPerson, toPersonRow } from './person-row.ts'
import { isDuplicate } from './transact.ts'

/** What somebody is at an issuer. */
export const subjectAt = (prepare: Prepare) =>
  prepare((given: { issuer: string; sub: string }) =>
    query.selectFrom('identities').select('subject').where('issuer', '=', given.issuer).where('sub', '=', given.sub),
  )

const writing = (prepare: Prepare) => ({
  find: prepare((given: { sub: string }) => query.selectFrom('people').selectAll().where('sub', '=', given.sub)),
  put: prepare((given: PersonRow) =>
    query.insertInto('people').values({
      sub: given.sub,
      account: given.account,
      email: given.email,
      name: given.name,
      password: given.password,
      account_admin: given.account_admin,
      created_at: given.created_at,
      email_proven: given.email_proven,
      sessions_from: given.sessions_from,
    }),
  ),
  update: prepare((given: PersonRow) =>
    query
      .updateTable('people')
      .set({
        name: given.name,
        password: given.password,
        account_admin: given.account_admin,
        email_proven: given.email_proven,
        sessions_from: given.sessions_from,
      })
      .where('sub', '=', given.sub),
  ),
  remove: prepare((given: { sub: string }) => query.deleteFrom('people').where('sub', '=', given.sub)),
  removeIdentities: prepare((given: { sub: string }) => query.deleteFrom('identities').where('sub', '=', given.sub)),
  removeLinksOf: prepare((given: { sub: string }) => query.deleteFrom('links').where('subject', '=', given.sub)),
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
  takeLink: prepare((given: { hash: string; now: number }) =>
    query.deleteFrom('links').where('hash', '=', given.hash).where('expires_at', '>', given.now),
  ),
  identify: prepare((given: { issuer: string; subject: string; sub: string }) =>
    query.insertInto('identities').values({ issuer: given.issuer, subject: given.subject, sub: given.sub }),
  ),
  subjectAt: subjectAt(prepare),
  mail: prepare((given: Mail) =>
    query.insertInto('mails').values({
      id: given.id,
      sealed: given.sealed,
      due_at: given.dueAt,
      attempts: given.attempts,
      expires_at: given.expiresAt,
    }),
  ),
})

const once = (kind: string, name: string, add: () => unknown): void => {
  try {
    add()
  } catch (error) {
    if (isDuplicate(error)) throw fail('already_exists', { kind, name }, error)
    throw error
  }
}

/** Makes one change; must run inside a transaction. */
export type ChangePeople = (change: IdentityChange, now: number) => void

export const peopleChanges = (prepare: Prepare, memory: Remembered): ChangePeople => {
  const run = writing(prepare)
  const keys = ownedKeys(prepare)
  const need = (sub: string): Person => {
    const row = run.find.get({ sub })
    if (!row) throw fail('not_found', { kind: 'person', name: sub })
    return toPerson(row)
  }
  return (change, now) => {
    memory.forget()
    if ('add' in change) once('person', change.add.email, () => run.put.run(toPersonRow(change.add)))
    else if ('set' in change) run.update.run(toPersonRow({ ...need(change.person), ...change.set }))
    else if ('remove' in change) {
      const { remove: sub } = change
      need(sub)
      keys.remove(sub)
      for (const statement of [run.removeIdentities, run.removeLinksOf, run.remove]) statement.run({ sub })
    } else if ('endLogins' in change) keys.removeLogins(change.endLogins)
    else if ('endKeys' in change) keys.remove(change.endKeys)
    else if ('link' in change) {
      run.removeLinks.run(change.link)
      run.addLink.run(change.link)
    } else if ('take' in change) {
      if (run.takeLink.run({ hash: change.take, now }) === 0) throw fail('not_found', { kind: 'link', name: 'it' })
    } else if ('identify' in change) {
      const { identify, as: sub } = change
      if (run.subjectAt.get({ issuer: identify.issuer, sub }))
        throw fail('already_exists', { kind: 'identity', name: sub })
      once('identity', identify.subject, () => run.identify.run({ ...identify, sub }))
    } else if ('unbind' in change) run.removeIdentities.run({ sub: change.unbind })
    else run.mail.run(change.mail)
  }
}
