/**
 * A user of a workspace, known by an e-mail address: invited, and in it once a person has accepted. The record is the invitation and
 * the membership in one; `spec.sub` says who it is.
 */
import { fail } from '../../../shared/errors.ts'
import { invitationMs, type Invitations } from '../access/invitations.ts'
import { s, text } from '../../../shared/schema.ts'
import { defineKind } from '../records/define-kind.ts'
import type { Kind } from '../records/kind.ts'
import type { Naming } from '../records/naming.ts'
import type { Presented } from '../records/present.ts'
import type { Wire } from '../records/wire.ts'
import type { Resource } from '../store/store.ts'
import { invitationAnswer, memberRole, presentInvitation } from './invitation.ts'

const addressPattern = /^[^\s@"(),:;<>[\]\\/]{1,64}@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/

/** Addresses that differ in case are one user's. */
const addresses: Naming = {
  check(name, field = 'email') {
    const address = name.trim().toLowerCase()
    if (address.length > 254 || !addressPattern.test(address))
      throw fail('invalid_argument', { field, reason: 'must be an e-mail address' })
    return address
  },
  stored: given => given.toLowerCase(),
}

interface Body {
  readonly email?: string | null
  readonly role?: string | null
}

/** What a listing and a change of the role answer. */
const member = ({ spec }: Presented, { uid, name }: Resource) => ({
  sub: spec['sub'] ?? uid,
  email: name,
  role: spec['role'],
  accepted: spec['sub'] !== undefined,
  email_verified: spec['emailVerified'] === true,
  expired: spec['expired'],
  source: spec['source'] ?? 'invitation',
})

const wire: Wire = {
  create: s.object({ email: text(256).check(s.minLength(1, 'must not be empty')), role: s.nullish(memberRole) }),
  update: s.object({ role: memberRole }),
  read: ({ email, role: given }: Body) => ({
    metadata: email ? { name: email } : {},
    spec: given ? { role: given } : {},
  }),
  answer: s.object({
    sub: s.string(),
    email: s.string(),
    role: memberRole,
    accepted: s.boolean(),
    email_verified: s.boolean(),
    expired: s.boolean(),
    source: s.enum(['invitation', 'domain_capture']),
  }),
  render: member,
  created: {
    /** Where the invitation is accepted, once; absent when it was mailed. */
    shape: s.extend(invitationAnswer, { link: s.optional(s.string()) }),
    render: (_, record) => presentInvitation(record),
  },
}

const by = (action: string) => ({ scope: `workspaces:${action}`, role: 'admin' }) as const

const isOver = ({ spec }: Pick<Resource, 'spec'>, now: number): boolean =>
  spec['sub'] === undefined && (spec['expiresAt'] as number) <= now

const overStatus = 'EXPIRED'

export const userKindName = 'workspaceUser'

/** Without `invitations` nobody is told how to accept: documents are made of it. */
export const userKind = (invitations?: Invitations): Kind =>
  defineKind({
    kind: userKindName,
    plural: 'users',
    param: 'subOrEmail',
    scope: 'workspaces',
    access: { create: by('invite'), update: by('update'), delete: by('remove') },
    verbs: ['list', 'create', 'update', 'delete'],
    names: addresses,
    alias: ({ uid, spec }) => (spec['sub'] as string | undefined) ?? uid,
    leaves: true,
    spec: s.object({}),
    fallback: { role: 'member' },
    wire,
    removed: { status: 200 },
    membership: ({ sub, role: as }) =>
      typeof sub === 'string' ? { sub, role: as === 'admin' ? 'admin' : 'member' } : undefined,
    // An invitation that is over is in nobody's way.
    statusAt: ({ record }, now) => (isOver(record, now) ? overStatus : ''),
    replaceableStatuses: [overStatus],
    issue({ uid, name: email, workspace, spec, metadata }, { now, ids, sealer }) {
      const invited = { uid, email, workspace, role: String(spec['role']), invitedBy: metadata.createdBy }
      const made = invitations?.make(invited, { now, ids, sealer })
      return {
        spec: { expiresAt: made?.expiresAt ?? now + invitationMs },
        ...(made ? { changes: made.changes } : {}),
        ...(made?.link ? { told: { link: made.link } } : {}),
      }
    },
    presentSpec: ({ spec }, { now }) => ({ ...spec, expired: isOver({ spec }, now) }),
    example: { create: { email: 'ada@example.com' }, update: { role: 'admin' } },
  })
