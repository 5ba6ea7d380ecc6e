/** How many of a kind an account has, over all its workspaces. */
import { sql } from 'kysely'
import { fail } from '../../../../shared/errors.ts'
import type { Write } from '../store.ts'
import { query, type Prepare } from './prepared.ts'

type AtMost = Extract<Write, { type: 'atMost' }>

const workspacesBeside = (workspace: string) =>
  query
    .selectFrom('workspaces')
    .select('name')
    .where('account', '=', by =>
      by.selectFrom('workspaces as own').select('own.account').where('own.name', '=', workspace),
    )

const statements = (prepare: Prepare) => ({
  inside: prepare((given: { kind: string; workspace: string; parent: string }) =>
    query
      .selectFrom('resources')
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .where('parent', '=', given.parent)
      .select(({ fn }) => fn.countAll<number>().as('count')),
  ),
  all: prepare((given: { kind: string; workspace: string }) =>
    query
      .selectFrom('counts')
      .where('kind', '=', given.kind)
      .where('workspace', 'in', workspacesBeside(given.workspace))
      .select(({ fn }) => fn.sum<number | null>('count').as('count')),
  ),
  live: prepare((given: { kind: string; workspace: string; statuses: string }) =>
    query
      .selectFrom('resources')
      .where('kind', '=', given.kind)
      .where('workspace', 'in', workspacesBeside(given.workspace))
      .where('status', 'not in', sql<string>`(SELECT value FROM json_each(${given.statuses}))`)
      .select(({ fn }) => fn.countAll<number>().as('count')),
  ),
})

/** To be asked inside the transaction that adds. */
export const quotas = (prepare: Prepare) => {
  const run = statements(prepare)
  return {
    /** Throws `quota_exceeded`. */
    need({ kind, resource, workspace, parent, most, exceptStatuses }: AtMost): void {
      if (parent !== undefined) {
        if ((run.inside.get({ kind, workspace, parent })?.count ?? 0) > most)
          throw fail('quota_exceeded', { resource, most })
        return
      }
      // Counted anyway; only where that is too many are those told apart that are on their way out.
      if ((run.all.get({ kind, workspace })?.count ?? 0) <= most) return
      const live = run.live.get({ kind, workspace, statuses: JSON.stringify(exceptStatuses) })
      if ((live?.count ?? 0) > most) throw fail('quota_exceeded', { resource, most })
    },
  }
}

export type Quotas = ReturnType<typeof quotas>
