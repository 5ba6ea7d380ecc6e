/**
 * A copy of everything a host keeps, while it runs:
 *
 *     each machine   stands still while its files are copied, a moment of its own each
 *     the rest       keys, the authority, catalogues, images that were pulled
 *     the database   last; who has come meanwhile is copied and the database once more
 *     the manifest   which makes it whole
 *
 * Files are never newer than the database says, and no machine of the database is without its files, but for those whose rows cannot be read:
 * nobody knows what those are. The archive is made in a directory beside its place and linked there when it is whole and on the disk: what is
 * killed leaves that directory alone, which the next backup to the same place removes.
 */
import { link, mkdir, open, readdir, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import { errno, fail, isError } from '../../../shared/errors.ts'
import { syncDirectory } from '../../base/durable.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Standby } from '../../core/machines/standby/standby.ts'
import { poolKind } from '../../core/machines/warm/pool-kind.ts'
import type { Instance, Store } from '../../core/store/store.ts'
import { appendPart } from './archive.ts'
import { databaseName, manifestName, type Manifest } from './manifest.ts'

export interface BackupDeps {
  readonly dataDir: string
  readonly imagesDir: string
  readonly store: Pick<Store, 'instances' | 'meter' | 'upkeep'>
  readonly drivers: Drivers
  readonly still: Standby['still']
  readonly clock: Clock
}

export interface BackupOrder {
  /** Absolute path of the file to be made. */
  readonly to: string
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

export interface BackedUp {
  readonly machines: number
  readonly bytes: number
  /** The longest that one of them stood still, ms. */
  readonly stillMs: number
  /** Ids of machines whose rows cannot be read: the rows are in the backup as they are, their files are not. */
  readonly unreadable: readonly string[]
}

interface Work extends BackupDeps, BackupOrder {
  readonly scratch: string
  readonly archive: FileHandle
  readonly copied: Set<string>
  /** Ids of machines whose rows cannot be read. */
  readonly unreadable: Set<string>
  stillMs: number
}

/** What is made anew by whoever needs it, or says something of this run alone; the database and machines have parts of their own. */
const left = /^(packages|hutch\.db.*|machines|generic|runtime|draining|\..*)$/

/** Which run of the machine its files are of; undefined while one begins or ends. */
const runOf = (instance: Instance | undefined): string | undefined =>
  instance && ['running', 'standby'].includes(instance.status) ? String(instance.startedAt) : undefined

const triesOfMachine = 5

/** False when its files changed while they were read: who has ended, which nobody has seen yet, lets go of its disk. */
const isCopied = async (work: Work, instance: Instance, isLast: boolean): Promise<boolean> => {
  try {
    await copyOnce(work, instance)
    return true
  } catch (error) {
    if (isLast || !isError(error, 'busy')) throw error
    return false
  }
}

/** One that ends or begins again while it is copied has written meanwhile: it is copied anew. */
const copyMachine = async (work: Work, instance: Instance): Promise<void> => {
  const { clock, archive, store } = work
  const { id } = instance
  for (let left = triesOfMachine; left > 0; left--) {
    const { size } = await archive.stat()
    const before = runOf(await store.instances.get(id))
    const done = await isCopied(work, instance, left === 1)
    if (done && !work.copied.has(id)) return
    if (done && before !== undefined && before === runOf(await store.instances.get(id))) return
    if (left === 1) return
    await archive.truncate(size)
    work.copied.delete(id)
    await clock.sleep(500)
  }
}

const copyOnce = async (work: Work, { id, driver }: Instance): Promise<void> => {
  const { drivers, still, clock, archive, dataDir, signal, store } = work
  const { keeper } = drivers.need(driver)
  try {
    await still(id, async () => {
      const begun = clock.elapsed()
      const names = (await keeper?.filesOf(id)) ?? []
      if (names.length === 0) return
      await appendPart(archive, { step: `files of ${id}`, directory: dataDir, names }, signal)
      work.copied.add(id)
      work.stillMs = Math.max(work.stillMs, clock.elapsed() - begun)
    })
  } catch (error) {
    // One that goes while it is copied is not in the database that follows.
    const now = await store.instances.get(id)
    if (now && now.status !== 'stopping') throw error
  }
}

/** One that has never been up holds no files, and one that nobody has been given none of anybody's: it is made anew. */
const missing = async ({ store, copied, unreadable }: Work): Promise<Instance[]> =>
  (await store.instances.every(id => void unreadable.add(id))).filter(
    ({ id, owner, status, startedAt }) =>
      owner.kind !== poolKind && startedAt !== undefined && status !== 'stopping' && !copied.has(id),
  )

const copyAll = async (work: Work): Promise<void> => {
  const tried = new Set<string>()
  for (let round = 0; round < 10; round++) {
    const found = (await missing(work)).filter(({ id }) => !tried.has(id))
    for (const instance of found) {
      tried.add(instance.id)
      await copyMachine(work, instance)
      if (tried.size % 25 === 0) work.say(`${tried.size} sandboxes`)
    }
    const { store, clock, scratch } = work
    await store.meter.checkpoint(clock.now())
    await rm(join(scratch, databaseName), { force: true })
    await store.upkeep.copyTo(join(scratch, databaseName))
    if ((await missing(work)).every(({ id }) => tried.has(id))) return
  }
  throw fail('busy', { what: 'sandboxes come faster than they are copied', next: 'drain the host first' })
}

const write = async (work: Work): Promise<void> => {
  const { dataDir, imagesDir, archive, scratch, signal, clock } = work
  const kept = (await readdir(dataDir)).filter(name => !left.test(name))
  await appendPart(archive, { step: 'keys and images', directory: dataDir, names: kept, live: true }, signal)
  await copyAll(work)
  await appendPart(archive, { step: 'database', directory: scratch, names: [databaseName] }, signal)
  const takenAt = new Date(clock.now()).toISOString()
  const manifest: Manifest = { format: 1, takenAt, dataDir, imagesDir, machines: [...work.copied] }
  await writeFile(join(scratch, manifestName), JSON.stringify(manifest))
  await appendPart(archive, { step: 'manifest', directory: scratch, names: [manifestName] }, signal)
  await archive.sync()
}

const place = async (from: string, to: string): Promise<void> => {
  try {
    await link(from, to)
  } catch (error) {
    if (errno(error) === 'EEXIST') throw exists(to)
    throw error
  }
  await syncDirectory(dirname(to))
}

const exists = (to: string) => fail('already_exists', { kind: 'file', name: to })

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    error => {
      if (errno(error) === 'ENOENT') return false
      throw error
    },
  )

/** Throws `already_exists` where there is a file, and what keeps it from being made; then there is none. */
export const backUp = async (deps: BackupDeps, order: BackupOrder): Promise<BackedUp> => {
  const { to } = order
  const scratch = `${to}.part`
  // Also where there is a whole one: what made it may have been killed before it had tidied up.
  await rm(scratch, { recursive: true, force: true })
  if (await isThere(to)) throw exists(to)
  await mkdir(scratch, { mode: 0o700 }).catch(error => {
    throw fail(
      'unavailable',
      { what: `${scratch} cannot be made (${errno(error)})`, next: 'name a file in a directory that is there' },
      error,
    )
  })
  try {
    const path = join(scratch, 'archive')
    const archive = await open(path, 'ax', 0o600)
    const work: Work = { ...deps, ...order, scratch, archive, copied: new Set(), unreadable: new Set(), stillMs: 0 }
    try {
      await write(work)
    } finally {
      await archive.close()
    }
    const { size } = await stat(path)
    await place(path, to)
    const unreadable = [...work.unreadable]
    return { machines: work.copied.size, bytes: size, stillMs: Math.round(work.stillMs), unreadable }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
