/** Makes the records of the pools what they should be. */
import { isDeepStrictEqual } from 'node:util'
import type { Ids } from '../../../../shared/ids.ts'
import type { Move, Transition } from '../../transitions/transition.ts'
import type { Resource, Store } from '../../store/store.ts'
import { nobody, specOf } from './pool.ts'
import { poolKind } from './pool-kind.ts'
import type { WantedPool } from './wanted.ts'

export interface KeepDeps {
  readonly store: Pick<Store, 'resources'>
  readonly transition: Transition
  readonly ids: Ids
}

const author = { createdBy: 'host', updatedBy: 'host' }

const moveFor = (pool: WantedPool, record: Resource | undefined, ids: Ids): Move | undefined => {
  const spec = pool.spec && { ...pool.spec }
  if (!spec) return record && { remove: record }
  if (record) return isDeepStrictEqual(specOf(record), spec) ? undefined : { record, change: { spec } }
  const draft = { uid: ids.uuid(), kind: poolKind, workspace: nobody, parent: '', name: pool.image }
  return { create: { ...draft, metadata: author, spec }, message: 'made' }
}

/** Resolves with the uids of the records that are other than before, those that went among them. */
export const keepPools = async (deps: KeepDeps, wanted: readonly WantedPool[]): Promise<readonly string[]> => {
  const { store, transition, ids } = deps
  // One that cannot be read is in the log of the runner, and neither filled nor removed.
  const records = await store.resources.everyOf(poolKind, () => {})
  const byName = new Map(records.map(record => [record.name, record]))
  const names = new Set(wanted.map(({ image }) => image))
  const moves = [
    ...wanted.flatMap(pool => moveFor(pool, byName.get(pool.image), ids) ?? []),
    ...records.filter(({ name }) => !names.has(name)).map(remove => ({ remove })),
  ]
  if (moves.length === 0) return []
  const { resources, removed } = await transition.write(moves)
  return [...resources, ...removed].map(({ uid }) => uid)
}
