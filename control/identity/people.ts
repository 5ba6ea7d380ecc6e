/** People: how they come to be, how they show who they are, and what they may do. */
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import { grantHash } from '../auth/grants.ts'
import { hashKey } from '../auth/keys.ts'
import type { AuditedBy, AuditEntry, Person, Store } from '../store/store.ts'
import { createAttempts, isPassword, needGoodPassword, sealPassword } from './passwords.ts'

export interface NewPerson {
  readonly token: string
  readonly email: string
  readonly name: string
  readonly password: string
}

export interface People {
  find(sub: string): Promise<Person | undefined>
  /** Throws `unauthenticated`, the same for a wrong password and an unknown address, and `too_many_attempts`. */
  signIn(given: { email: string; password: string }, by: AuditedBy): Promise<Person>
  /** Whether a link may still be used. */
  isLink(token: string): Promise<boolean>
  /** Throws `not_found` for a link that is over, `invalid_argument` naming the field. */
  join(given: NewPerson, by: AuditedBy): Promise<Person>
  /** What a client may do for a person from now on, as long as the row is there; `name` is what the person knows it by. */
  allow(person: Person, grant: { readonly id: string; readonly client: string }, by: AuditedBy): Promise<void>
  /** Whether that still holds. */
  isAllowed(grantId: string): Promise<boolean>
  /** Ends it; nothing happens when it has ended. */
  disallow(grantId: string): Promise<void>
}

const mostByAddress = 10
const mostByRemote = 50

const entry = (by: AuditedBy, action: string, { account, sub, email }: Person, detail = {}): AuditEntry => ({
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

const addressOf = (email: string): string => {
  const address = email.trim().toLowerCase()
  if (!/^[^\s@]{1,64}@[^\s@]{1,189}$/.test(address))
    throw fail('invalid_argument', { field: 'email', reason: 'must be an e-mail address' })
  return address
}

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
  person: { sub, label: client.slice(0, 63), expiresIn: '' },
  defaultWorkspace: null,
})

export const createPeople = (deps: {
  store: Pick<Store, 'identity' | 'tenants' | 'audit'>
  clock: Clock
  ids: Ids
  account: string
}): People => {
  const { store, clock, ids, account } = deps
  const { identity, tenants, audit } = store
  const attempts = createAttempts(clock)
  return {
    find: sub => identity.person('sub', sub),
    async signIn({ email, password }, by) {
      const address = email.trim().toLowerCase().slice(0, 254)
      attempts.begin(`address ${address}`, mostByAddress)
      attempts.begin(`remote ${by.remote}`, mostByRemote)
      const person = await identity.person('email', address)
      if (!(await isPassword(password.slice(0, 1024), person?.password)) || !person)
        throw fail('unauthenticated', { reason: 'the address or the password is wrong' })
      attempts.succeeded(`address ${address}`)
      attempts.takeBack(`remote ${by.remote}`)
      await audit.append([entry(by, 'sign-in', person)], clock.now())
      return person
    },
    isLink: async token => (await identity.link(hashKey(token), clock.now())) !== undefined,
    async join({ token, email, name, password }, by) {
      needGoodPassword(password)
      const now = clock.now()
      // To make a hash of it costs: not for whoever has no link.
      if (!(await identity.link(hashKey(token), now))) throw fail('not_found', { kind: 'link', name: 'any more' })
      const person: Person = {
        sub: ids.uuid(),
        account,
        email: addressOf(email),
        name: name.trim().slice(0, 100),
        password: await sealPassword(password),
        accountAdmin: true,
        createdAt: now,
      }
      await identity.addPerson(person, hashKey(token), entry(by, 'create', person))
      return person
    },
    async allow(person, { id, client }, by) {
      await tenants.addApiKey(
        { ...rightsOf(person, client), id: ids.uuid(), hash: grantHash.person(id), createdAt: clock.now() },
        entry(by, 'allow', person, { client }),
      )
    },
    async disallow(grantId) {
      const row = await tenants.apiKeyByHash(grantHash.person(grantId))
      if (row) await tenants.removeApiKey(row.id)
    },
    isAllowed: async grantId => (await tenants.apiKeyByHash(grantHash.person(grantId))) !== undefined,
  }
}
