/** Names of users and groups, from files the tenant may change at any time. */
import { constants, type BigIntStats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { Clock } from '../../shared/clock.ts'

export interface Owners {
  /** Reads the files again if they have changed; call it once before the synchronous look-ups of a request. */
  refresh(): Promise<void>
  user(uid: number): string
  group(gid: number): string
}

/** Largest file that is read: the tenant may have put anything there. */
const limit = 4 * 1024 * 1024
const recheckMs = 1_000

interface Table {
  names: Map<number, string>
  seen: string
}

const stamp = (stats: BigIntStats) => `${stats.ino}:${stats.size}:${stats.mtimeNs}`

const namesOf = (text: string): Map<number, string> => {
  const names = new Map<number, string>()
  for (const line of text.split('\n')) {
    const [name, , id] = line.split(':')
    if (name && id && /^\d+$/.test(id) && !names.has(Number(id))) names.set(Number(id), name)
  }
  return names
}

const reload = async (path: string, table: Table): Promise<void> => {
  try {
    const stats = await stat(path, { bigint: true })
    if (stamp(stats) === table.seen) return
    // Non-blocking, since a fifo of that name must not hold the daemon up.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const opened = await file.stat()
      const usable = opened.isFile() && opened.size <= limit
      table.names = usable ? namesOf(await file.readFile('utf8')) : new Map()
      table.seen = stamp(stats)
    } finally {
      await file.close()
    }
  } catch {
    // Without the file, or with one that cannot be read, ids are shown as numbers.
    table.names = new Map()
    table.seen = ''
  }
}

export const createOwners = (
  deps: { clock: Clock },
  files: { passwd: string; group: string } = { passwd: '/etc/passwd', group: '/etc/group' },
): Owners => {
  const users: Table = { names: new Map(), seen: '' }
  const groups: Table = { names: new Map(), seen: '' }
  let checked = Number.NEGATIVE_INFINITY
  let checking: Promise<unknown> | undefined
  return {
    async refresh() {
      const now = deps.clock.elapsed()
      if (now - checked < recheckMs) return
      checking ??= Promise.all([reload(files.passwd, users), reload(files.group, groups)]).finally(() => {
        checked = deps.clock.elapsed()
        checking = undefined
      })
      await checking
    },
    user: uid => users.names.get(uid) ?? String(uid),
    group: gid => groups.names.get(gid) ?? String(gid),
  }
}
