/** Which processes belong to a process: what it started, what they started, and what shares its group or session. */
import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { errno } from '../../shared/errors.ts'

export interface Kin {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
}

/** Parses /proc/PID/stat; the name in parentheses may itself hold blanks and parentheses. */
export const parseStat = (stat: string): Kin | undefined => {
  const match = /^(\d+) \([\s\S]*\) \S (\d+) (-?\d+) (-?\d+) /.exec(stat)
  if (!match) return undefined
  const [pid = 0, parent = 0, group = 0, session = 0] = match.slice(1).map(Number)
  return { pid, parent, group, session }
}

const isGone = (error: unknown): boolean => ['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(errno(error) ?? '')

const kinOf = async (proc: string, pid: string): Promise<Kin | undefined> => {
  try {
    return parseStat(await readFile(join(proc, pid, 'stat'), 'latin1'))
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

/** The members of `pid`'s family among `all`, itself first. 0 and 1 have everybody below them and stand alone. */
export const familyAmong = (pid: number, all: readonly Kin[]): number[] => {
  const children = new Map<number, number[]>()
  for (const kin of all) {
    const siblings = children.get(kin.parent)
    if (siblings) siblings.push(kin.pid)
    else children.set(kin.parent, [kin.pid])
  }
  const members = new Set<number>()
  const own = all.filter(kin => kin.pid === pid).map(kin => kin.pid)
  // A server that outlives the shell that started it has another parent by now, but still the shell's group.
  const mates = pid > 1 ? all.filter(kin => kin.group === pid || kin.session === pid).map(kin => kin.pid) : []
  const open = [...own, ...mates]
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (members.has(next)) continue
    members.add(next)
    if (next > 1) open.push(...(children.get(next) ?? []))
  }
  return [...members]
}

/** Pids of the family of `pid`, itself first; empty when there is nobody. */
export const familyOf = async (pid: number, proc = '/proc'): Promise<number[]> => {
  const pids = (await readdir(proc)).filter(name => /^\d+$/.test(name))
  const all = await Promise.all(pids.map(name => kinOf(proc, name)))
  return familyAmong(
    pid,
    all.filter(kin => kin !== undefined),
  )
}

/** Inodes of the sockets a process holds open; none when it is gone. */
export const socketsHeld = async (pid: number, proc = '/proc'): Promise<string[]> => {
  const dir = join(proc, String(pid), 'fd')
  try {
    const links = await Promise.all(
      (await readdir(dir)).map(fd =>
        readlink(join(dir, fd)).catch(error => {
          if (isGone(error)) return ''
          throw error
        }),
      ),
    )
    return links.flatMap(link => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? [])
  } catch (error) {
    if (isGone(error)) return []
    throw error
  }
}

/**
 * The name of a process's executable; '' when it is gone. Its short name stands in where the executable is not shown:
 * it is second choice because runtimes rename their threads (Node's main thread is `MainThread`).
 */
export const processName = async (pid: number, proc = '/proc'): Promise<string> => {
  const dir = join(proc, String(pid))
  try {
    return basename((await readlink(join(dir, 'exe'))).replace(/ \(deleted\)$/, ''))
  } catch (error) {
    if (!isGone(error)) throw error
  }
  try {
    return (await readFile(join(dir, 'comm'), 'utf8')).trimEnd()
  } catch (error) {
    if (isGone(error)) return ''
    throw error
  }
}
