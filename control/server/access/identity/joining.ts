/** What a link is good for: an account gets an admin, a workspace somebody who was invited, a person another password. */
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Ids } from '../../../../shared/ids.ts'
import { hashKey } from '../../../core/access/keys.ts'
import type { AuditedBy, IdentityChange, Link, Person, Store } from '../../../core/store/store.ts'
import type { Purpose } from '../../../core/access/links.ts'
import type { Invitation, Members } from './members.ts'
import { needGoodPassword, sealPassword } from './passwords.ts'
import { addressOf, personEntry, type People } from './people.ts'

/** What is behind a link that can still be used. */
export interface Door {
  readonly purpose: Purpose
  readonly hash: string
  /** Whom it is for; undefined where they say so themselves. */
  readonly email?: string
  /** Somebody of that address is known here. */
  readonly person?: Person
  readonly invitation?: Invitation
  /** Whom a new person belongs to. */
  readonly account: string
}

export interface Joined {
  readonly token: string
  readonly email: string
  readonly name: string
  readonly password: string
}

export interface Joining {
  /** Undefined for a link that was used or is over. */
  door(token: string): Promise<Door | undefined>
  /** The link is used up. Throws `not_found` for one that is over, `invalid_argument` naming the field, `unauthenticated`. */
  join(given: Joined, by: AuditedBy): Promise<{ readonly person: Person; readonly door: Door }>
  /** The same for somebody whose address the operator's provider knows. */
  joinAs(door: Door, who: { readonly email: string; readonly name: string }, more: Known): Promise<Person>
}

/** What happens with it, and who says so. */
export interface Known {
  readonly by: AuditedBy
  /** Of the person that it is then. */
  readonly with: (person: Person) => readonly IdentityChange[]
}

interface Deps {
  readonly store: Pick<Store, 'identity'>
  readonly people: Pick<People, 'signIn' | 'find'>
  readonly members: Members
  readonly clock: Clock
  readonly ids: Ids
}

const gone = () => fail('not_found', { kind: 'link', name: 'any more: it was used or is over' })

const draftOf = ({ clock, ids }: Deps, account: string, email: string, name: string): Person => ({
  sub: ids.uuid(),
  account,
  email,
  name: name.trim().slice(0, 100),
  password: null,
  accountAdmin: false,
  createdAt: clock.now(),
  emailProven: false,
  sessionsFrom: 0,
})

const doorOf = async ({ store: { identity }, people, members }: Deps, link: Link): Promise<Door | undefined> => {
  const { hash, subject } = link
  const purpose = link.purpose as Purpose
  if (purpose === 'admin') return { purpose, hash, account: subject }
  if (purpose === 'password') {
    const person = await people.find(subject)
    return person && { purpose, hash, person, email: person.email, account: person.account }
  }
  const invitation = await members.invitation(subject).catch(() => undefined)
  if (!invitation) return undefined
  const person = await identity.person('email', invitation.email)
  const { email, account } = invitation
  return { purpose, hash, email, invitation, account, ...(person ? { person } : {}) }
}

/** Whoever has a link that was mailed reads mail at that address. */
const proves = ({ purpose }: Door): boolean => purpose === 'mailed'

const asAdmin = async (deps: Deps, door: Door, given: Joined, by: AuditedBy): Promise<Person> => {
  needGoodPassword(given.password)
  const plain = draftOf(deps, door.account, addressOf(given.email), given.name)
  const person = { ...plain, accountAdmin: true, password: await sealPassword(given.password) }
  const changes: IdentityChange[] = [{ take: door.hash }, { add: person }]
  await deps.store.identity.change(changes, [personEntry(by, 'create', person)], deps.clock.now())
  return person
}

/** Whatever was begun with the password of before is over: somebody else may have known it. */
const withPassword = async (deps: Deps, door: Door & { person: Person }, given: Joined, by: AuditedBy) => {
  needGoodPassword(given.password)
  const now = deps.clock.now()
  const { person } = door
  const set = { password: await sealPassword(given.password), sessionsFrom: now }
  const changes: IdentityChange[] = [{ take: door.hash }, { person: person.sub, set }, { endLogins: person.sub }]
  await deps.store.identity.change(changes, [personEntry(by, 'set password', person)], now)
  return person
}

const asMember = async (
  deps: Deps,
  door: Door & { invitation: Invitation },
  given: Joined,
  by: AuditedBy,
): Promise<Person> => {
  const { person: known, invitation, hash } = door
  const { email, account } = invitation
  if (known) {
    const person = { ...(await deps.people.signIn({ email, password: given.password }, by)) }
    const proven = person.emailProven || proves(door)
    const more: IdentityChange[] = [{ take: hash }, { person: person.sub, set: { emailProven: proven } }]
    await deps.members.accept(invitation, { ...person, emailProven: proven }, { by, with: more })
    return person
  }
  needGoodPassword(given.password)
  const plain = draftOf(deps, account, email, given.name)
  const person = { ...plain, password: await sealPassword(given.password), emailProven: proves(door) }
  await deps.members.accept(invitation, person, { by, with: [{ take: hash }, { add: person }] })
  return person
}

export const createJoining = (deps: Deps): Joining => {
  const { store, clock } = deps
  const doorFor = async (token: string): Promise<Door | undefined> => {
    const link = await store.identity.link(hashKey(token), clock.now())
    return link && doorOf(deps, link)
  }
  return {
    door: doorFor,
    async join(given, by) {
      // To make a hash of a password costs: not for whoever has no link.
      const door = await doorFor(given.token)
      if (!door) throw gone()
      const { purpose, invitation, person } = door
      if (purpose === 'admin') return { door, person: await asAdmin(deps, door, given, by) }
      if (invitation) return { door, person: await asMember(deps, { ...door, invitation }, given, by) }
      if (!person) throw gone()
      return { door, person: await withPassword(deps, { ...door, person }, given, by) }
    },
    async joinAs(door, { email, name }, more) {
      const { invitation, hash, person: known } = door
      if (!invitation) throw gone()
      if (email !== invitation.email)
        throw fail('forbidden', { reason: `the invitation is for ${invitation.email}, and you signed in as ${email}` })
      const person = { ...(known ?? draftOf(deps, invitation.account, email, name)), emailProven: true }
      const changes: IdentityChange[] = [
        { take: hash },
        known ? { person: known.sub, set: { emailProven: true } } : { add: person },
        ...more.with(person),
      ]
      await deps.members.accept(invitation, person, { by: more.by, with: changes })
      return person
    },
  }
}
