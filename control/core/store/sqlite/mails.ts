/** Mails that are to be sent, as rows. */
import type { Identity, Mail } from '../store.ts'
import type { MailRow } from './identity-tables.ts'
import { one, query, type Prepare } from './prepared.ts'
import type { Transact } from './transact.ts'

const toMail = (row: MailRow): Mail => ({
  id: row.id,
  sealed: row.sealed,
  dueAt: row.due_at,
  attempts: row.attempts,
  expiresAt: row.expires_at,
})

const statements = (prepare: Prepare) => ({
  due: prepare((given: { now: number; limit: number }) =>
    query.selectFrom('mails').selectAll().where('due_at', '<=', given.now).orderBy('due_at').limit(given.limit),
  ),
  next: prepare(() => query.selectFrom('mails').select('due_at').orderBy('due_at').limit(one)),
  remove: prepare((given: { id: string }) => query.deleteFrom('mails').where('id', '=', given.id)),
  sweep: prepare((given: { now: number }) => query.deleteFrom('mails').where('expires_at', '<=', given.now)),
  putOff: prepare((given: { id: string; dueAt: number }) =>
    query
      .updateTable('mails')
      .set(({ eb }) => ({ due_at: given.dueAt, attempts: eb('attempts', '+', 1) }))
      .where('id', '=', given.id),
  ),
})

type Mails = Pick<Identity, 'dueMails' | 'nextMail' | 'removeMail' | 'putOffMail'>

export const sqliteMails = (prepare: Prepare, { look, write }: Transact): Mails => {
  const run = statements(prepare)
  return {
    dueMails: (now, limit) =>
      write(() => {
        run.sweep.run({ now })
        return run.due.all({ now, limit }).map(toMail)
      }),
    nextMail: () => look(() => run.next.get({})?.due_at),
    removeMail: id => write(() => void run.remove.run({ id })),
    putOffMail: (id, dueAt) => write(() => void run.putOff.run({ id, dueAt })),
  }
}
