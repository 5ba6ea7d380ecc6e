/** How somebody whom the operator lets in by the domain of their address is put into a workspace. */
import type { Ids } from '../../../../shared/ids.ts'
import type { Move } from '../../../core/transitions/transition.ts'
import type { Person, Resource } from '../../../core/store/store.ts'

interface Given {
  readonly userKind: string
  readonly ids: Pick<Ids, 'uuid'>
  /** The record of that address in that workspace, if there is one. */
  readonly before: Resource | undefined
}

/** A record that nobody invited to. */
const captured = (kind: string, uid: string, { email, sub }: Person, workspace: string, role: string): Move => ({
  create: {
    uid,
    kind,
    workspace,
    parent: '',
    name: email,
    metadata: { createdBy: email, updatedBy: email },
    spec: { role, sub, emailVerified: true, source: 'domain_capture', expiresAt: 0 },
  },
  message: `${kind} ${email} created`,
})

/** The same in the place of an invitation that was over before it was accepted: there is one record of an address. */
const recaptured = (record: Resource, { sub }: Person, role: string): Move => ({
  record,
  change: { spec: { ...record.spec, role, sub, emailVerified: true, source: 'domain_capture', expiresAt: 0 } },
})

/** What makes the person a member, whatever was left of an invitation. */
export const capture = ({ userKind, ids, before }: Given, person: Person, workspace: string, role: string): Move =>
  before !== undefined && before.spec['sub'] === undefined
    ? recaptured(before, person, role)
    : captured(userKind, ids.uuid(), person, workspace, role)
