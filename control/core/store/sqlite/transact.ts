import BetterSqlite, { type Database } from 'better-sqlite3'
import { fail } from '../../../../shared/errors.ts'

/** Runs whole transactions; what they throw has been rolled back. */
export interface Transact {
  read<T>(task: () => T): Promise<T>
  /** For a task of one statement, which sees one state of the database by itself. */
  look<T>(task: () => T): Promise<T>
  write<T>(task: () => T): Promise<T>
}

/** True when a UNIQUE or PRIMARY KEY rule refused a write. */
export const isDuplicate = (error: unknown): boolean =>
  error instanceof BetterSqlite.SqliteError &&
  (error.code === 'SQLITE_CONSTRAINT_UNIQUE' || error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY')

/** True when a row names another one that is not there. */
export const isOrphan = (error: unknown): boolean =>
  error instanceof BetterSqlite.SqliteError && error.code === 'SQLITE_CONSTRAINT_FOREIGNKEY'

/** Failures of the disk or the lock as typed errors; anything else is a bug and stays as it is. */
export const translate = (error: unknown): unknown => {
  if (!(error instanceof BetterSqlite.SqliteError)) return error
  if (error.code === 'SQLITE_FULL')
    return fail('unavailable', { what: 'the disk of the data directory is full', next: 'free some space' }, error)
  if (error.code.startsWith('SQLITE_BUSY') || error.code.startsWith('SQLITE_LOCKED'))
    return fail('busy', { what: 'the database is locked by another process', next: 'try again' }, error)
  if (/^SQLITE_(IOERR|CANTOPEN|READONLY|CORRUPT|NOTADB|PERM)/.test(error.code))
    return fail(
      'unavailable',
      {
        what: `the database cannot be used (${error.code})`,
        next: 'check the disk and the rights of the data directory',
      },
      error,
    )
  return error
}

/** `wrote` is told of every write, before anybody can see it. */
export const transactions = (db: Database, wrote = () => {}): Transact => {
  const within = db.transaction((task: () => unknown) => task())
  const guarded = <T>(run: () => unknown): T => {
    try {
      return run() as T
    } catch (error) {
      throw translate(error)
    }
  }
  return {
    // A snapshot for the whole task, so that rows of several statements belong together.
    read: async <T>(task: () => T) => guarded<T>(() => within.deferred(task)),
    look: async <T>(task: () => T) => guarded<T>(task),
    // The write lock is taken first: no transaction fails half-way because it read too early.
    write: async <T>(task: () => T) => {
      // Nobody looks between here and the commit: a transaction runs in one go.
      wrote()
      return guarded<T>(() => within.immediate(task))
    },
  }
}
