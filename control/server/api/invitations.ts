/** Invitations as whoever is invited sees them. */
import { fail } from '../../../shared/errors.ts'
import { handle, type Bound, type Context } from '../../../shared/route.ts'
import type { Invitation, Members } from '../access/identity/members.ts'
import type { Person, Store } from '../../core/store/store.ts'
import { endOf, presentInvitation } from '../../core/kinds/invitation.ts'
import { acceptInvitation, declineInvitation, listInvitations } from './invitation-declarations.ts'
import { factsOf } from './surface.ts'
import { presentWorkspace } from './workspaces.ts'

interface Deps {
  readonly store: Pick<Store, 'identity' | 'tenants' | 'resources'>
  readonly identity: { readonly members: Members }
}

const none = (name: string) => fail('not_found', { kind: 'invitation', name })

/**
 * The person who calls. An invitation is for who reads mail at an address: throws `forbidden` for somebody of whom nobody knows
 * that, who has their link to show; `not_found` for keys that are no person's.
 */
const personOf = async ({ store }: Deps, context: Context): Promise<Person> => {
  const { key } = factsOf(context)
  const person = key.person && (await store.identity.person('sub', key.person.sub))
  if (!person) throw none(key.name)
  if (!person.emailProven)
    throw fail('forbidden', {
      reason: `nothing has proven yet that ${person.email} is yours: open the link of the invitation`,
    })
  return person
}

/** How many are told of besides. */
const mostEmails = 5

const rendered = async ({ store }: Deps, { record, email, role, account }: Invitation) => {
  const workspace = await store.tenants.workspace(record.workspace)
  const owner = await store.tenants.account(account)
  const { kind } = record
  const members = await store.resources.list({
    kind,
    workspace: record.workspace,
    sort: 'createdAt:asc',
    limit: mostEmails,
  })
  return {
    invitationId: record.uid,
    type: 'workspace' as const,
    email,
    role,
    invitedAt: new Date(record.createdAt).toISOString(),
    expiresAt: endOf(record),
    invitedBy: { email: record.metadata.createdBy, family_name: '', given_name: '', sub: '' },
    account: { id: account, displayName: owner?.displayName ?? account },
    workspace: { name: record.workspace, displayName: workspace?.displayName ?? record.workspace },
    workspaceDetails: {
      user_number: await store.resources.count(kind, record.workspace),
      emails: members.items.map(({ name }) => ({ email: name })),
    },
  }
}

/** The invitation of the caller into a workspace. Throws `not_found`. */
const need = async (deps: Deps, nameOrId: string, context: Context) => {
  const person = await personOf(deps, context)
  const workspace = await deps.store.tenants.workspace(nameOrId)
  const all = await deps.identity.members.pending(person)
  const invitation = all.find(one => one.workspace === workspace?.name)
  if (!workspace || !invitation) throw none(nameOrId.slice(0, 64))
  return { person, workspace, invitation }
}

export const invitationRoutes = (deps: Deps): Bound[] => {
  const { members } = deps.identity
  return [
    handle(listInvitations, async (_input, context) => {
      const person = await personOf(deps, context)
      const all = await members.pending(person)
      if (all.length === 0) throw none(person.email)
      return Promise.all(all.map(one => rendered(deps, one)))
    }),
    handle(acceptInvitation, async ({ params }, context) => {
      const { person, workspace, invitation } = await need(deps, params.workspaceName, context)
      await members.accept(invitation, person, { by: factsOf(context).by, with: [] })
      return { email: person.email, workspace: presentWorkspace(workspace) }
    }),
    handle(declineInvitation, async ({ params }, context) => {
      const { invitation } = await need(deps, params.workspaceName, context)
      await members.decline(invitation, factsOf(context).by)
      return presentInvitation(invitation.record)
    }),
  ]
}
