import type { Database } from 'better-sqlite3'
import { sql } from 'kysely'
import { closeSync, openSync } from 'node:fs'
import type { Tallied, Upkeep } from '../store.ts'
import { query, type Prepare } from './prepared.ts'
import { translate, type Transact } from './transact.ts'

interface Parts {
  readonly db: Database
  readonly prepare: Prepare
  readonly transact: Transact
}

const statements = (prepare: Prepare) => ({
  mark: prepare((given: { value: string }) =>
    query
      .insertInto('meta')
      .values({ key: 'written', value: given.value })
      .onConflict(conflict => conflict.column('key').doUpdateSet({ value: given.value })),
  ),
  resources: prepare((given: { kinds: string }) =>
    query
      .selectFrom('resources')
      .where('kind', 'in', sql<string>`(SELECT value FROM json_each(${given.kinds}))`)
      .groupBy(['kind', 'status'])
      .select(({ fn }) => ['kind', 'status', fn.countAll<number>().as('count')]),
  ),
  instances: prepare(() =>
    query
      .selectFrom('instances')
      .groupBy(['kind', 'status'])
      .select(({ fn }) => ['kind', 'status', fn.countAll<number>().as('count')]),
  ),
})

export const sqliteUpkeep = ({ db, prepare, transact }: Parts): Upkeep => {
  const { read, write } = transact
  const run = statements(prepare)
  let turn = 0
  return {
    tryWriting: () => write(() => void run.mark.run({ value: String(++turn) })),
    async copyTo(path) {
      // Its owner alone may read what it holds.
      closeSync(openSync(path, 'wx', 0o600))
      try {
        await db.backup(path)
      } catch (error) {
        throw translate(error)
      }
    },
    tally: kinds =>
      read(() => ({
        resources: run.resources.all({ kinds: JSON.stringify(kinds) }) as Tallied[],
        instances: run.instances.all({}) as Tallied[],
      })),
  }
}
