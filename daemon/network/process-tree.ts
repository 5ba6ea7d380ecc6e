/** The processes that belong to a process: its descendants, and those that share its group or session. */
import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { errno } from '../../shared/errors.ts'
import { parseStat, type ProcessStat } from '../proc/stat.ts'

const isGone = (error: unknown): boolean => ['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(errno(error) ?? '')

const statOf = async (proc: string, pid: string): Promise<ProcessStat | undefined> => {
  try {
    return parseStat(await readFile(join(proc, pid, 'stat'), 'latin1'))
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

type Relations = Pick<ProcessStat, 'pid' | 'parent' | 'group' | 'session'>

/** The members of `pid`'s tree among `all`, itself first. 0 and 1 have everybody below them and stand alone. */
export const processTreeAmong = (pid: number, all: readonly Relations[]): number[] => {
  const children = new Map<number, number[]>()
  for (const stat of all) {
    const siblings = children.get(stat.parent)
    if (siblings) siblings.push(stat.pid)
    else children.set(stat.parent, [stat.pid])
  }
  const members = new Set<number>()
  const own = all.filter(stat => stat.pid === pid).map(stat => stat.pid)
  // A server that outlives the shell that started it has another parent by now, but still the shell's group.
  const mates = pid > 1 ? all.filter(stat => stat.group === pid || stat.session === pid).map(stat => stat.pid) : []
  const open = [...own, ...mates]
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (members.has(next)) continue
    members.add(next)
    if (next > 1) open.push(...(children.get(next) ?? []))
  }
  return [...members]
}

/** Pids of the tree of `pid`, itself first; empty when there is nobody. */
export const processTreeOf = async (pid: number, proc = '/proc'): Promise<number[]> => {
  const pids = (await readdir(proc)).filter(name => /^\d+$/.test(name))
  const all = await Promise.all(pids.map(name => statOf(proc, name)))
  return processTreeAmong(
    pid,
    all.filter(stat => stat !== undefined),
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
 * The name of a process's executable; '' when it is gone. Where the executable is not shown, its short name; that is
 * second choice because runtimes rename their threads (Node's main thread is `MainThread`).
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
