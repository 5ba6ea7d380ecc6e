/** Which resource names which other one: kept by the transaction that writes the resource, looked up by the target. */
import { fail } from '../../../../shared/errors.ts'
import type { Key, Reference, Resource, Usage, Within } from '../store.ts'
import { query, type Prepare } from './prepared.ts'
import type { RefRow } from './tables.ts'

/** So many users are named when a resource cannot be removed. */
export const usersNamed = 3

const statements = (prepare: Prepare) => ({
  status: prepare((given: Key) =>
    query
      .selectFrom('resources')
      .select('status')
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .where('parent', '=', given.parent)
      .where('name', '=', given.name),
  ),
  add: prepare((given: RefRow) =>
    query.insertInto('refs').values({
      uid: given.uid,
      field: given.field,
      workspace: given.workspace,
      kind: given.kind,
      parent: given.parent,
      name: given.name,
      by_kind: given.by_kind,
    }),
  ),
  removeOf: prepare((given: { uid: string }) => query.deleteFrom('refs').where('uid', '=', given.uid)),
  usages: prepare((given: Key & { limit: number }) =>
    query
      .selectFrom('refs')
      .innerJoin('resources', 'resources.uid', 'refs.uid')
      .where('refs.kind', '=', given.kind)
      .where('refs.workspace', '=', given.workspace)
      .where('refs.parent', '=', given.parent)
      .where('refs.name', '=', given.name)
      .select([
        'resources.uid as uid',
        'resources.kind as kind',
        'resources.parent as parent',
        'resources.name as name',
        'refs.field as field',
      ])
      .orderBy('resources.kind')
      .orderBy('resources.name')
      .orderBy('refs.field')
      .limit(given.limit),
  ),
  counts: prepare((given: Key) =>
    query
      .selectFrom('refs')
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .where('parent', '=', given.parent)
      .where('name', '=', given.name)
      .groupBy('by_kind')
      .select(['by_kind as kind', ({ fn }) => fn.count<number>('uid').distinct().as('count')]),
  ),
})

/** Everything but the reads must run inside the transaction of the resource that is written. */
export const references = (prepare: Prepare) => {
  const run = statements(prepare)
  /** Why the key cannot be named; undefined when it can. */
  const unfit = (key: Key, exceptStatuses: readonly string[] = []): string | undefined => {
    const found = run.status.get(key)
    if (found === undefined) return 'not found'
    return exceptStatuses.includes(found.status) ? `is ${found.status}` : undefined
  }
  const counts = (target: Key): Record<string, number> =>
    Object.fromEntries(run.counts.all(target).map(({ kind, count }) => [kind, count]))
  const usages = (target: Key, limit: number): Usage[] => run.usages.all({ ...target, limit })
  return {
    usages,
    counts,
    /** Throws `not_found` when what a resource is to live inside is not there. */
    needParent({ exceptStatuses, ...key }: Within): void {
      if (unfit(key, exceptStatuses)) throw fail('not_found', { kind: key.kind, name: key.name })
    },
    /** Puts `wanted` in the place of those it had; throws `invalid_argument` for a target that is not there. */
    replace({ uid, kind: by_kind, workspace }: Resource, wanted: readonly Reference[]): void {
      run.removeOf.run({ uid })
      for (const { field, kind, parent, name, exceptStatuses, exclusive } of wanted) {
        const target = { workspace, kind, parent, name }
        const reason = unfit(target, exceptStatuses)
        if (reason) throw fail('invalid_argument', { field, reason: `${kind} "${name}" ${reason}` })
        const [holder] = exclusive ? usages(target, 1) : []
        if (holder) throw fail('in_use', { kind, name, users: [`${holder.kind} "${holder.name}"`], more: 0 })
        run.add.run({ uid, field, ...target, by_kind })
      }
    },
    forget: (uid: string): void => void run.removeOf.run({ uid }),
    /** Throws `in_use` when another resource names the target. */
    needUnused(target: Key): void {
      const count = Object.values(counts(target)).reduce((sum, one) => sum + one, 0)
      if (count === 0) return
      const named = usages(target, usersNamed * 4).map(({ kind, name }) => `${kind} "${name}"`)
      const users = [...new Set(named)].slice(0, usersNamed)
      throw fail('in_use', { kind: target.kind, name: target.name, users, more: count - users.length })
    },
  }
}

export type References = ReturnType<typeof references>
