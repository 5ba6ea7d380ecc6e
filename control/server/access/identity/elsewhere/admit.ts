/** Whom the operator's provider names becomes somebody here: known, invited, or let in by the domain of their address. */
import type { Clock } from '../../../../../shared/clock.ts'
import { fail } from '../../../../../shared/errors.ts'
import type { Ids } from '../../../../../shared/ids.ts'
import type { AuditedBy, IdentityChange, Person, Store } from '../../../../core/store/store.ts'
import type { Door, Joining } from '../joining.ts'
import type { Members } from '../members.ts'
import { personEntry } from '../people.ts'
import type { Claims } from './claims.ts'

export interface AdmitConfig {
  /** Domains of addresses that may come in; none for any. */
  readonly domains: readonly string[]
  /** Workspaces that whoever may come in is in, and as what; none for invited people alone. */
  readonly join: readonly { readonly workspace: string; readonly role: 'admin' | 'member' }[]
}

interface Deps {
  readonly store: Pick<Store, 'identity' | 'tenants'>
  readonly members: Members
  readonly clock: Clock
  readonly ids: Ids
  /** Whom people belong to that nobody invited. */
  readonly account: string
  readonly config: AdmitConfig
}

const refuse = (reason: string) => fail('forbidden', { reason })

/** Throws `forbidden` for an address that the provider does not vouch for, and one of another domain. */
const needVouched = ({ domains }: AdmitConfig, { email, emailVerified }: Claims): void => {
  if (!/^[^\s@]{1,64}@[^\s@]{1,189}$/.test(email)) throw refuse('the provider tells no e-mail address of yours')
  if (!emailVerified) throw refuse('the provider does not say that your e-mail address is verified')
  if (domains.length > 0 && !domains.includes(email.slice(email.lastIndexOf('@') + 1)))
    throw refuse('addresses of your domain may not sign in here')
}

/**
 * Somebody of that address is here already. A password that was set by who had a link, and never read mail there, may be somebody
 * else's: it is taken away, with what was begun with it. Admins of an account had their link from the operator.
 */
const merging = ({ accountAdmin, emailProven, sub }: Person, now: number): IdentityChange[] => {
  if (emailProven || accountAdmin) return [{ person: sub, set: { emailProven: true } }]
  return [{ person: sub, set: { emailProven: true, password: null, sessionsFrom: now } }, { endKeys: sub }]
}

const identifying = ({ issuer, subject }: Claims, { sub }: Person): IdentityChange => ({
  identify: { issuer, subject },
  as: sub,
})

/**
 * A provider gives an address that somebody left to the next one: another subject of the same issuer is another person, however well
 * the address is verified. Throws `forbidden`.
 */
const needUnbound = async ({ store }: Pick<Deps, 'store'>, { issuer, email }: Claims, { sub }: Person) => {
  if ((await store.identity.subjectAt(issuer, sub)) !== undefined)
    throw refuse(`${email} is already bound to another account of your provider; ask the operator of this host`)
}

const makePerson = async (deps: Deps, claims: Claims, by: AuditedBy): Promise<Person> => {
  const { members, clock, ids, config, account } = deps
  const { email, name } = claims
  const invitations = await members.pendingAnywhere(email)
  if (invitations.length === 0 && config.join.length === 0) throw refuse(`nobody has invited ${email}`)
  const person: Person = {
    sub: ids.uuid(),
    account: invitations[0]?.account ?? account,
    email,
    name: name.slice(0, 100),
    password: null,
    accountAdmin: false,
    createdAt: clock.now(),
    emailProven: true,
    sessionsFrom: 0,
  }
  await members.admit(person, {
    by,
    invitations: invitations.filter(one => one.account === person.account),
    join: person.account === account ? config.join : [],
    with: [{ add: person }, identifying(claims, person)],
  })
  return person
}

/** Who it is. Throws `forbidden` with the reason. */
export const admitClaims = async (deps: Deps, claims: Claims, by: AuditedBy): Promise<Person> => {
  const { store, clock, config } = deps
  needVouched(config, claims)
  const known = await store.identity.identified(claims)
  if (known) return known
  const same = await store.identity.person('email', claims.email)
  if (!same) return makePerson(deps, claims, by)
  await needUnbound(deps, claims, same)
  const now = clock.now()
  const audit = [personEntry(by, 'identify', same, { issuer: claims.issuer })]
  await store.identity.change([identifying(claims, same), ...merging(same, now)], audit, now)
  return same
}

/** Whoever holds a link uses it up as whom the provider names. Throws `forbidden` for another address than it is for. */
export const admitWithLink = async (deps: Deps & { joining: Joining }, door: Door, claims: Claims, by: AuditedBy) => {
  const { store, config, joining } = deps
  needVouched(config, claims)
  const before = await store.identity.identified(claims)
  if (before && before.sub !== door.person?.sub)
    throw refuse(`the invitation is for ${door.email ?? ''}, and you are ${before.email} here`)
  if (!before && door.person) await needUnbound(deps, claims, door.person)
  return joining.joinAs(door, claims, {
    by,
    with: person =>
      before ? [] : [identifying(claims, person), ...(door.person ? merging(door.person, deps.clock.now()) : [])],
  })
}
