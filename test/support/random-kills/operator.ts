/** Who takes backups while all is killed, and in the end makes a server of the last one. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand } from '../command.ts'
import { server, type Teardowns } from '../server.ts'
import { filesIn, type Known, type Person } from './person.ts'
import { newWorld, note, type World } from './world.ts'

const copyOf = (known: Known): Known => ({ ...known, files: new Map(known.files), previews: new Map(known.previews) })
const now = (people: readonly Person[]): Known[] => people.flatMap(({ has }) => (has ? [copyOf(has)] : []))

/** What a copy that was made between the two certainly has: of other files both, none, or what was being written. */
const certain = (before: readonly Known[], after: readonly Known[]): Known[] =>
  before.flatMap(one => {
    const other = after.find(({ name }) => name === one.name)
    if (!other || other.memory !== one.memory) return []
    return [
      {
        ...one,
        files: new Map([...one.files].filter(([file, sums]) => String(sums) === String(other.files.get(file)))),
      },
    ]
  })

export interface Backup {
  readonly file: string
  readonly has: readonly Known[]
}

/** Resolves when the world is over, with the last backup that was made. */
export const keepBackups = async (
  t: Teardowns,
  world: World,
  people: readonly Person[],
): Promise<Backup | undefined> => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'hutch-backups-')))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  let last: Backup | undefined
  for (let count = 0; !world.over; count++) {
    await sleep(10_000)
    await world.up
    const before = now(people)
    const from = Date.now()
    const file = join(dir, `${count}.tar`)
    const made = await runCommand(['backup', file], { HUTCH_DATA_DIR: world.s.dataDir })
    world.copying.push({ from, to: Date.now() })
    if (made.code === 0 && !existsSync(file)) world.odd.push(`a backup was made, and ${file} is not there`)
    else if (made.code === 0) {
      note(world, 'backup')
      if (last) rmSync(last.file)
      last = { file, has: certain(before, now(people)) }
    } else {
      note(world, `backup: ${made.error.trim().split('\n').at(-1)?.slice(0, 300)}`)
      // Refused in words, never by an exception of its own.
      if (!made.error.includes('hutch') || made.error.includes('    at ')) world.odd.push(`backup: ${made.error}`)
    }
  }
  return last
}

/** Starts a server on what the backup has, and looks whether all of it is there; resolves with what is not. */
export const lookAtBackup = async (
  t: Teardowns,
  env: Record<string, string>,
  { file, has }: Backup,
): Promise<readonly string[]> => {
  const s = await server(t, env, [], async ({ dataDir }) => {
    const { code, error } = await runCommand(['restore', file], { HUTCH_DATA_DIR: dataDir })
    if (code !== 0) throw new Error(`the backup cannot be restored: ${error}`)
  })
  const world = newWorld(s)
  for (const { name, files } of has) {
    const there = await filesIn(world, name)
    for (const [path, possible] of files)
      if (!possible.includes(there?.get(path))) world.odd.push(`restored: ${path} of ${name} is ${there?.get(path)}`)
  }
  await s.stop()
  return world.odd
}
