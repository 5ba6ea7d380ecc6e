/** People: how they come to be, how they show who they are, and what they may do. */
import type { Clock } from '../../../../shared/clock.ts'
import { fail, isError } from '../../../../shared/errors.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Denials, Denied } from '../audit/denials.ts'
import { grantHash } from '../../../core/access/grants.ts'
import type { AuditedBy, AuditEntry, Person, Store } from '../../../core/store/store.ts'
import { createAttempts, isPassword } from './passwords.ts'

export interface People {
  find(sub: string): Promise<Person | undefined>
  /** Throws `unauthenticated`, the same for a wrong password and an unknown address, and `too_many_attempts`. */
  signIn(given: { email: string; password: string }, by: AuditedBy): Promise<Person>
  /** Written down by whoever knows who it is without a password. */
  signedIn(person: Person, by: AuditedBy, detail: Readonly<Record<string, unknown>>): Promise<void>
  /** What a client may do for a person from now on, as long as the row is there; `name` is what the person knows it by. */
  allow(person: Person, grant: { readonly id: string; readonly client: string }, by: AuditedBy): Promise<void>
  /** Whether that still holds. */
  isAllowed(grantId: string): Promise<boolean>
  /** Ends it; nothing happens when it has ended. */
  disallow(grantId: string, by: AuditedBy): Promise<void>
}

const mostByAddress = 10
const mostByRemote = 50

export const personEntry = (
  by: AuditedBy,
  action: string,
  { account, sub, email }: Person,
  detail = {},
): AuditEntry => ({
  ...by,
  actor: email,
  account,
  workspace: '',
  action,
  kind: 'person',
  name: email,
  uid: sub,
  detail,
})

/** Throws `invalid_argument`. */
export const addressOf = (email: string): string => {
  const address = email.trim().toLowerCase()
  if (!/^[^\s@]{1,64}@[^\s@]{1,189}$/.test(address))
    throw fail('invalid_argument', { field: 'email', reason: 'must be an e-mail address' })
  return address
}

/** An address that is nobody's is not written down: passwords are typed into the wrong field. */
const deniedSignIn = (by: AuditedBy, person: Person | undefined, reason: string): Denied => ({
  ...by,
  account: person?.account ?? '',
  workspace: '',
  endpoint: 'sign-in',
  reason,
  ...(person ? { person } : {}),
})

/** What a client may do for a person; the tokens have the scopes. */
const rightsOf = ({ sub, email, account, accountAdmin }: Person, client: string) => ({
  name: email,
  account,
  workspace: null,
  role: 'admin' as const,
  accountAdmin,
  expiresAt: null,
  scopes: null,
  owner: null,
  person: { sub, label: client.slice(0, 63), expiresIn: '', signsIn: true as const },
  defaultWorkspace: null,
})

export const createPeople = (deps: {
  store: Pick<Store, 'identity' | 'tenants' | 'audit'>
  clock: Clock
  ids: Ids
  denials: Pick<Denials, 'note'>
}): People => {
  const { store, clock, ids, denials } = deps
  const { identity, tenants, audit } = store
  const attempts = createAttempts(clock)
  return {
    find: sub => identity.person('sub', sub),
    async signIn({ email, password }, by) {
      const address = email.trim().toLowerCase().slice(0, 254)
      const person = await identity.person('email', address)
      try {
        attempts.begin(`address ${address}`, mostByAddress)
        attempts.begin(`remote ${by.remote}`, mostByRemote)
        if (!(await isPassword(password.slice(0, 1024), person?.password)) || !person)
          throw fail('unauthenticated', { reason: 'the address or the password is wrong' })
      } catch (error) {
        if (isError(error)) denials.note(deniedSignIn(by, person, error.message))
        throw error
      }
      attempts.succeeded(`address ${address}`)
      attempts.takeBack(`remote ${by.remote}`)
      await audit.append([personEntry(by, 'sign-in', person)], clock.now())
      return person
    },
    signedIn: (person, by, detail) => audit.append([personEntry(by, 'sign-in', person, detail)], clock.now()),
    async allow(person, { id, client }, by) {
      await tenants.addApiKey(
        { ...rightsOf(person, client), id: ids.uuid(), hash: grantHash.person(id), createdAt: clock.now() },
        personEntry(by, 'allow', person, { client }),
      )
    },
    async disallow(grantId, by) {
      const row = await tenants.apiKeyByHash(grantHash.person(grantId))
      const person = row?.person && (await identity.person('sub', row.person.sub))
      if (!row) return
      const audit = person ? personEntry(by, 'disallow', person, { client: row.person?.label }) : undefined
      await tenants.removeApiKey(row.id, audit, clock.now())
    },
    isAllowed: async grantId => (await tenants.apiKeyByHash(grantHash.person(grantId))) !== undefined,
  }
}
