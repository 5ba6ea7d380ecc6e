/** How people come into workspaces: a record that was an invitation becomes a membership, in one transaction with who it is. */
import { fail } from '../../../../shared/errors.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Move, Transition } from '../../../core/transitions/transition.ts'
import type { AuditedBy, IdentityChange, Person, Resource, Store } from '../../../core/store/store.ts'
import { capture } from './domain-capture.ts'
import { personEntry } from './people.ts'

/** What an invitation says, as long as it can be accepted. */
export interface Invitation {
  readonly record: Resource
  readonly email: string
  readonly workspace: string
  readonly account: string
  readonly role: 'admin' | 'member'
}

export interface Admission {
  readonly by: AuditedBy
  readonly invitations: readonly Invitation[]
  readonly join: readonly { readonly workspace: string; readonly role: 'admin' | 'member' }[]
  /** In the same transaction. */
  readonly with: readonly IdentityChange[]
}

export interface Members {
  /** Throws `not_found` for one that is gone, accepted or over. */
  invitation(uid: string): Promise<Invitation>
  /** Those of an address in an account. */
  pending(person: Pick<Person, 'email' | 'account'>): Promise<Invitation[]>
  /** The person is in the workspace from now on. `with` happens in the same transaction. Throws `forbidden` for somebody of another account. */
  accept(
    invitation: Invitation,
    person: Person,
    how: { readonly by: AuditedBy; readonly with: readonly IdentityChange[] },
  ): Promise<void>
  /** Those of an address in every account. */
  pendingAnywhere(email: string): Promise<Invitation[]>
  /** A new person accepts what they were invited to, and is put into `join`. */
  admit(person: Person, how: Admission): Promise<void>
  /** There is no invitation any more. */
  decline(invitation: Invitation, by: AuditedBy): Promise<void>
  /** Takes the person out of every workspace, with all that lets them in. */
  remove(person: Person, by: AuditedBy): Promise<void>
}

const accepting = ({ record }: Invitation, { sub, emailProven }: Person): Move => ({
  record,
  change: { spec: { ...record.spec, sub, emailVerified: emailProven } },
})

const isOpen = ({ spec }: Resource, now: number): boolean =>
  spec['sub'] === undefined && (spec['expiresAt'] as number) > now

interface Deps {
  readonly store: Pick<Store, 'resources' | 'tenants' | 'identity'>
  /** Kind of the records. */
  readonly userKind: string
  readonly now: () => number
  readonly ids: Pick<Ids, 'uuid'>
  readonly transition: () => Pick<Transition, 'write'>
}

const looking = ({ store, userKind, now }: Deps) => {
  const of = async (record: Resource | undefined): Promise<Invitation> => {
    const workspace = record && (await store.tenants.workspace(record.workspace))
    if (!workspace || record.kind !== userKind || !isOpen(record, now()))
      throw fail('not_found', { kind: 'invitation', name: 'it' })
    const role = record.spec['role'] === 'admin' ? 'admin' : 'member'
    return { record, email: record.name, workspace: workspace.name, account: workspace.account, role }
  }
  const pending: Members['pending'] = async ({ email, account }) => {
    const found: Invitation[] = []
    for (const workspace of await store.tenants.workspaces(account)) {
      const key = { kind: userKind, workspace: workspace.name, parent: '', name: email }
      const record = await store.resources.get(key)
      if (record && isOpen(record, now())) found.push(await of(record))
    }
    return found
  }
  return { of, pending }
}

export const createMembers = (deps: Deps): Members => {
  const { store, userKind, ids, transition } = deps
  const { of, pending } = looking(deps)
  return {
    invitation: async uid => of(await store.resources.getByUid(uid)),
    pending,
    async pendingAnywhere(email) {
      const all: Invitation[] = []
      for (const { id } of await store.tenants.accounts()) all.push(...(await pending({ email, account: id })))
      return all
    },
    async accept(invitation, person, { by, with: more }) {
      if (invitation.account !== person.account)
        throw fail('forbidden', { reason: 'this address belongs to somebody of another account of this host' })
      const moves = [...more.map(identity => ({ identity })), accepting(invitation, person)]
      await transition().write(moves, { ...by, actor: person.email })
    },
    async admit(person, { by, invitations, join, with: more }) {
      const invited = new Set(invitations.map(({ workspace }) => workspace))
      const there = new Set((await store.tenants.workspaces(person.account)).map(({ name }) => name))
      // A workspace that was deleted since keeps nobody out of the others.
      const others = join.filter(({ workspace }) => there.has(workspace) && !invited.has(workspace))
      const captures: Move[] = []
      for (const { workspace, role } of others) {
        const before = await store.resources.get({ kind: userKind, workspace, parent: '', name: person.email })
        captures.push(capture({ userKind, ids, before }, person, workspace, role))
      }
      const identities = more.map(identity => ({ identity }))
      const accepted = invitations.map(invitation => accepting(invitation, person))
      await transition().write([...identities, ...accepted, ...captures], { ...by, actor: person.email })
    },
    decline: async ({ record }, by) =>
      void (await transition().write([{ remove: record }], { ...by, actor: by.actor || record.name })),
    async remove(person, by) {
      const records: Resource[] = []
      for (const uid of await store.identity.membershipsOf(person.sub)) {
        const record = await store.resources.getByUid(uid)
        if (record) records.push(record)
      }
      const gone = records.map(record => ({ remove: record }))
      const audit = personEntry(by, 'delete', person)
      await transition().write([...gone, { identity: { remove: person.sub } }, { audit }], by)
    },
  }
}
