/** What only one resource of a kind and workspace may have, or of a kind where it begins with a slash: kept by the transaction that writes the resource. */
import { fail } from '../../../../shared/errors.ts'
import type { Resource } from '../store.ts'
import { one, query, type Prepare } from './prepared.ts'
import type { ClaimRow } from './tables.ts'

const statements = (prepare: Prepare) => ({
  holder: prepare((given: Omit<ClaimRow, 'uid'>) =>
    query
      .selectFrom('claims')
      .select('uid')
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .where('claim', '=', given.claim),
  ),
  anywhere: prepare((given: Pick<ClaimRow, 'kind' | 'claim'>) =>
    query.selectFrom('claims').select('uid').where('kind', '=', given.kind).where('claim', '=', given.claim).limit(one),
  ),
  add: prepare((given: ClaimRow) =>
    query
      .insertInto('claims')
      .values({ kind: given.kind, workspace: given.workspace, claim: given.claim, uid: given.uid }),
  ),
  removeOf: prepare((given: { uid: string }) => query.deleteFrom('claims').where('uid', '=', given.uid)),
})

/** Everything but `holder` and `anywhere` must run inside the transaction of the resource that is written. */
export const claims = (prepare: Prepare) => {
  const run = statements(prepare)
  const holder = (kind: string, workspace: string, claim: string): string | undefined =>
    run.holder.get({ kind, workspace, claim })?.uid
  const anywhere = (kind: string, claim: string): string | undefined => run.anywhere.get({ kind, claim })?.uid
  return {
    holder,
    anywhere,
    /** Puts `wanted` in the place of those it had; throws `already_exists` for one that another has. */
    replace({ uid, kind, workspace }: Resource, wanted: readonly string[]): void {
      run.removeOf.run({ uid })
      for (const claim of new Set(wanted)) {
        const other = claim.startsWith('/') ? anywhere(kind, claim) : holder(kind, workspace, claim)
        // What is claimed is seldom the name: an address, which has a dot at its end where it is of no domain.
        const name = claim.replace(/^\//, '').replace(/\.$/, '')
        if (other !== undefined) throw fail('already_exists', { kind: `${kind} at`, name })
        run.add.run({ kind, workspace, claim, uid })
      }
    },
    forget: (uid: string): void => void run.removeOf.run({ uid }),
  }
}

export type Claims = ReturnType<typeof claims>
