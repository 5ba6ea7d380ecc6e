/** What people are in workspaces: kept by the transaction that writes the record it goes with. */
import type { Membership, Resource } from '../store.ts'
import type { MembershipRow } from './identity-tables.ts'
import { ownedKeys } from './owned-keys.ts'
import { query, type Prepare } from './prepared.ts'
import type { Remembered } from './remembered.ts'

const statements = (prepare: Prepare) => ({
  ofPerson: prepare((given: { sub: string }) =>
    query.selectFrom('memberships').selectAll().where('sub', '=', given.sub).orderBy('workspace'),
  ),
  byUid: prepare((given: { uid: string }) => query.selectFrom('memberships').selectAll().where('uid', '=', given.uid)),
  put: prepare((given: MembershipRow) =>
    query
      .replaceInto('memberships')
      .values({ uid: given.uid, sub: given.sub, workspace: given.workspace, role: given.role }),
  ),
  remove: prepare((given: { uid: string }) => query.deleteFrom('memberships').where('uid', '=', given.uid)),
  isAdmin: prepare((given: { sub: string }) =>
    query.selectFrom('people').select('sub').where('sub', '=', given.sub).where('account_admin', '=', 1),
  ),
})

/** Everything but `of` must run inside a transaction. */
export const memberships = (prepare: Prepare, memory: Remembered) => {
  const run = statements(prepare)
  const keys = ownedKeys(prepare)
  return {
    of: (sub: string): MembershipRow[] => run.ofPerson.all({ sub }),
    replace({ uid, workspace }: Resource, { sub, role }: Membership): void {
      memory.forget()
      run.put.run({ uid, workspace, sub, role })
    },
    /** Whoever is nobody anywhere any more has no keys: they would be good again when somebody invites them anew. */
    forget(uid: string): void {
      const [row] = run.byUid.all({ uid })
      if (!row) return
      memory.forget()
      run.remove.run({ uid })
      if (run.ofPerson.all(row).length === 0 && !run.isAdmin.get(row)) keys.remove(row.sub)
    },
  }
}

export type Memberships = ReturnType<typeof memberships>
