/** A person as a row. */
import type { Person } from '../store.ts'
import type { PersonRow } from './identity-tables.ts'

export const toPerson = (row: PersonRow): Person => ({
  sub: row.sub,
  account: row.account,
  email: row.email,
  name: row.name,
  password: row.password,
  accountAdmin: row.account_admin === 1,
  createdAt: row.created_at,
  emailProven: row.email_proven === 1,
  sessionsFrom: row.sessions_from,
})

export const toPersonRow = (person: Person): PersonRow => ({
  sub: person.sub,
  account: person.account,
  email: person.email,
  name: person.name,
  password: person.password,
  account_admin: person.accountAdmin ? 1 : 0,
  created_at: person.createdAt,
  email_proven: person.emailProven ? 1 : 0,
  sessions_from: person.sessionsFrom,
})
