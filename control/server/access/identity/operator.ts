/** What the operator does about accounts and people, in the place of who cannot sign in yet. */
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Account, Person, Store } from '../../../core/store/store.ts'
import { accountEntry, operatorBy } from './by-operator.ts'
import { newLink } from '../../../core/access/links.ts'
import type { Members } from './members.ts'
import { addressOf, personEntry } from './people.ts'

export interface PersonRow extends Person {
  /** By name, and as what. */
  readonly workspaces: readonly string[]
  readonly hasPassword: boolean
}

export interface OperatorDeps {
  readonly store: Pick<Store, 'identity' | 'tenants' | 'resources'>
  readonly members: Pick<Members, 'remove'>
  readonly clock: Clock
  readonly ids: Ids
}

const namePattern = /^[a-z0-9]([a-z0-9-]{0,47}[a-z0-9])?$/

/** An account with its first workspace. Throws `already_exists`, and `invalid_argument` naming the field. */
export const createAccount = async (
  { store, clock, ids }: OperatorDeps,
  { name, workspace, displayName }: { name: string; workspace: string; displayName: string },
): Promise<Account> => {
  const { tenants } = store
  for (const [field, value] of Object.entries({ name, workspace }))
    if (!namePattern.test(value))
      throw fail('invalid_argument', { field, reason: 'must be lower-case letters, digits and hyphens, at most 49' })
  if (await tenants.isTaken(workspace)) throw fail('already_exists', { kind: 'workspace', name: workspace })
  const createdAt = clock.now()
  const account = { id: name, displayName: displayName.slice(0, 63) || name, createdAt }
  const first = {
    id: ids.uuid(),
    name: workspace,
    account: name,
    displayName: workspace,
    createdBy: operatorBy.actor,
    updatedBy: operatorBy.actor,
    createdAt,
  }
  await tenants.addAccount(account, first, accountEntry('create', name))
  return account
}

const needPerson = async ({ store }: OperatorDeps, email: string): Promise<Person> => {
  const address = addressOf(email)
  const person = await store.identity.person('email', address)
  if (!person) throw fail('not_found', { kind: 'person', name: address })
  return person
}

/** The address, without the host, of a page where the person sets another password. The one before is of no use any more. */
export const passwordLink = async (deps: OperatorDeps, email: string): Promise<string> => {
  const { store, clock, ids } = deps
  const person = await needPerson(deps, email)
  const now = clock.now()
  const { address, change } = newLink(ids, 'password', person.sub, now)
  await store.identity.change([change], [personEntry(operatorBy, 'password link', person)], now)
  return address
}

/** As what the person counts in their account from the next request on. */
export const setAccountAdmin = async (deps: OperatorDeps, email: string, accountAdmin: boolean): Promise<void> => {
  const person = await needPerson(deps, email)
  const audit = [personEntry(operatorBy, 'update', person, { accountAdmin })]
  // What was begun as an admin asks again.
  const ending = accountAdmin ? [] : [{ endLogins: person.sub }]
  const changes = [{ person: person.sub, set: { accountAdmin } }, ...ending]
  await deps.store.identity.change(changes, audit, deps.clock.now())
}

/**
 * Whoever the operator's provider names with the person's address next is bound to them, for one who was made anew there. Logins
 * end, keys and memberships stay.
 */
export const unbindPerson = async (deps: OperatorDeps, email: string): Promise<void> => {
  const { store, clock } = deps
  const person = await needPerson(deps, email)
  const { sub } = person
  const now = clock.now()
  const changes = [{ unbind: sub }, { person: sub, set: { sessionsFrom: now } }, { endLogins: sub }]
  await store.identity.change(changes, [personEntry(operatorBy, 'unbind', person)], now)
}

/** The person is gone, with keys, logins and what they were in workspaces. */
export const removePerson = async (deps: OperatorDeps, email: string): Promise<void> =>
  deps.members.remove(await needPerson(deps, email), operatorBy)

export const listPeople = async ({ store }: OperatorDeps): Promise<PersonRow[]> => {
  const rows: PersonRow[] = []
  for (const person of await store.identity.people()) {
    const workspaces: string[] = []
    for (const uid of await store.identity.membershipsOf(person.sub)) {
      const record = await store.resources.getByUid(uid)
      if (record) workspaces.push(`${record.workspace}:${String(record.spec['role'])}`)
    }
    rows.push({ ...person, workspaces, hasPassword: person.password !== null })
  }
  return rows
}
