import type { Database } from 'better-sqlite3'
import { fail } from '../../../../shared/errors.ts'

export interface Migration {
  /** The schema's number after it ran; kept in `user_version`. */
  readonly version: number
  readonly name: string
  readonly up: string
}

const versionOf = (db: Database): number => db.pragma('user_version', { simple: true }) as number

/** Throws `unavailable` unless the newest migration has run: for who reads a database that another process may be using. */
export const needNewest = (db: Database, migrations: readonly Migration[]): void => {
  const [found, newest] = [versionOf(db), migrations.at(-1)?.version ?? 0]
  if (found === newest) return
  throw fail('unavailable', {
    what: `the database has schema ${found} and this build has ${newest}`,
    next: found > newest ? 'use the build that wrote it' : 'start the server of this build, which brings it up to date',
  })
}

/**
 * Brings the schema up to the newest migration, each in a transaction of its own, and returns the versions before
 * and after. Throws `unavailable` for a database that a newer build has written, without touching it.
 */
export const migrate = (db: Database, migrations: readonly Migration[]): { from: number; to: number } => {
  const newest = migrations.at(-1)?.version ?? 0
  const from = versionOf(db)
  const refuseNewer = (found: number) => {
    if (found > newest)
      throw fail('unavailable', {
        what: `the database has schema ${found} and this build knows ${newest} at most`,
        next: 'start the build that wrote it, or restore a backup from before the upgrade',
      })
  }
  refuseNewer(from)
  for (const { version, up } of migrations)
    db.transaction(() => {
      // Read inside the transaction: another process may have migrated while this one waited for the lock.
      const current = versionOf(db)
      refuseNewer(current)
      if (version <= current) return
      db.exec(up)
      db.pragma(`user_version = ${version}`)
    }).immediate()
  return { from, to: versionOf(db) }
}
