import BetterSqlite, { type Database } from 'better-sqlite3'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { errno, fail, isError } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import type { WritableStore } from '../store.ts'
import { sqliteApply } from './apply.ts'
import { auditing, sqliteAudit } from './audit.ts'
import { claims } from './claims.ts'
import { sqliteIdentity } from './identity.ts'
import { sqliteInstances } from './instances.ts'
import { keyWriting } from './keys.ts'
import { memberships } from './memberships.ts'
import { peopleChanges } from './people-changes.ts'
import { lister } from './listing.ts'
import { sqliteMeter } from './meter.ts'
import { sqliteModelUsage } from './model-usage.ts'
import { migrate, needNewest } from './migrate.ts'
import { migrations } from './migrations/index.ts'
import { preparer } from './prepared.ts'
import { recorder } from './recorder.ts'
import { quotas } from './quotas.ts'
import { references } from './references.ts'
import { remembering } from './remembered.ts'
import { scheduleWriting, sqliteSchedules } from './schedules.ts'
import { sqliteResources } from './resources.ts'
import { standing } from './standing.ts'
import { sqliteTenants } from './tenants.ts'
import { transactions, translate } from './transact.ts'
import { sqliteUpkeep } from './upkeep.ts'
import { workspaces } from './workspaces.ts'

const makeFile = (path: string): void => {
  if (path === ':memory:') return
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // SQLite gives its journal the rights of the database.
  closeSync(openSync(path, 'a', 0o600))
}

/**
 * What is promised: a write that resolved survives `kill -9` of this process. A commit in WAL mode is in the kernel's
 * page cache by then, and the kernel outlives the process; that needs no fsync, so `synchronous` is NORMAL.
 * When the whole box loses power the commits since the last checkpoint of the WAL may be rolled back, newest first;
 * the database stays whole, and reconciling with what the drivers list repairs the rest. FULL would add an fsync
 * (several milliseconds on a disk) to every state change for that case alone.
 */
const prepareDatabase = (db: Database): void => {
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  // Pages; one sandbox writes some fifty, most of them the same ones again, and whoever makes it waits for two fsyncs when a
  // checkpoint comes. Up to 4,062 frames are looked up in one table (https://www.sqlite.org/walformat.html#the_wal_index_file_format).
  db.pragma('wal_autocheckpoint = 4000')
  db.pragma('foreign_keys = ON')
  db.pragma('busy_timeout = 5000')
  db.pragma('cache_size = -32768')
  db.pragma('trusted_schema = OFF')
}

const compose = (db: Database): WritableStore => {
  const prepare = preparer(db)
  const remember = remembering(db)
  const transact = transactions(db, remember.wrote)
  const record = recorder(prepare)
  const named = references(prepare)
  const claimed = claims(prepare)
  const keys = keyWriting(prepare)
  const memories = { memory: remember.anew(), ofMachines: remember.anew(), ofRecords: remember.anew() }
  const { memory, ofMachines, ofRecords } = memories
  const rows = workspaces(prepare)
  const auditor = auditing(prepare, rows)
  const members = memberships(prepare, memory)
  const changePeople = peopleChanges(prepare, memory)
  const scheduled = scheduleWriting(prepare)
  return {
    resources: sqliteResources({
      prepare,
      transact,
      references: named,
      claims: claimed,
      list: lister(db, prepare),
      memory: ofRecords,
    }),
    instances: sqliteInstances(prepare, transact, ofMachines),
    apply: sqliteApply({
      prepare,
      transact,
      recorder: record,
      references: named,
      quotas: quotas(prepare),
      claims: claimed,
      keys,
      workspaces: rows,
      memberships: members,
      changePeople,
      auditing: auditor,
      schedules: scheduled,
      ...memories,
    }),
    audit: sqliteAudit(auditor, transact),
    schedules: sqliteSchedules(scheduled, transact),
    identity: sqliteIdentity(prepare, transact, { auditing: auditor, change: changePeople, memberships: members }),
    tenants: sqliteTenants({
      transact,
      prepare,
      memory,
      keys,
      workspaces: rows,
      auditing: auditor,
      standing: standing(prepare, members),
    }),
    upkeep: sqliteUpkeep({ db, prepare, transact, ofRecords }),
    meter: sqliteMeter({ db, prepare, transact, recorder: record }),
    // Nothing that a request is let in by depends on it: what is remembered of that stays.
    modelUsage: sqliteModelUsage(prepare, transactions(db)),
    moment: remember.moment,
    close: async () => void db.close(),
  }
}

export interface StoreConfig {
  readonly path: string
  /** It must be there, with the schema of this build: for a program beside the server. */
  readonly asItIs?: boolean
}

const bringUpToDate = (db: Database, log: Log): void => {
  const { from, to } = migrate(db, migrations)
  // Of a new one there is nothing to tell.
  if (from !== to && from > 0) log.info('store.migrated', { from, to })
}

/**
 * Opens the database at `path`, made when missing (0600: it holds secrets of specs), and brings its schema up to date.
 * Throws `unavailable` when the file cannot be used or a newer build has written it.
 */
export const openStore = async (config: StoreConfig, deps: { log: Log }): Promise<WritableStore> => {
  let db: Database | undefined
  try {
    if (!config.asItIs) makeFile(config.path)
    db = new BetterSqlite(config.path, { fileMustExist: true })
    prepareDatabase(db)
    if (config.asItIs) needNewest(db, migrations)
    else bringUpToDate(db, deps.log)
    return compose(db)
  } catch (error) {
    db?.close()
    const translated = translate(error)
    const code = errno(translated)
    if (isError(translated) || !code) throw translated
    const what = `the directory of ${config.path} cannot be used (${code})`
    throw fail('unavailable', { what, next: 'check the data directory and its rights' }, error)
  }
}
