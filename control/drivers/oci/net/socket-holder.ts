/** Which of some processes has a socket. They may be hostile, and have a million descriptors each. */
import { opendir, readlink } from 'node:fs/promises'

/** Of one process, and for one answer. */
const most = { processes: 256, descriptors: 1_024, looked: 4_096 } as const

/** What is left of the descriptors that are looked at for one answer. */
interface Budget {
  left: number
}

const holds = async (pid: number, inode: string, budget: Budget): Promise<boolean> => {
  const directory = `/proc/${pid}/fd`
  let seen = 0
  // Not as a list: it may have a million.
  for await (const { name } of await opendir(directory, { bufferSize: 64 })) {
    if (++seen > most.descriptors || --budget.left < 0) return false
    if ((await readlink(`${directory}/${name}`).catch(() => '')) === `socket:[${inode}]`) return true
  }
  return false
}

/** The first of the processes that has the socket; undefined when the budget ends before it is found. */
export const holderOf = async (pids: readonly number[], inode: string): Promise<number | undefined> => {
  const budget = { left: most.looked }
  // Whoever opened it before those that inherited it.
  for (const pid of pids.toSorted((one, other) => one - other).slice(0, most.processes)) {
    // One that has ended meanwhile has nothing any more.
    if (await holds(pid, inode, budget).catch(() => false)) return pid
    if (budget.left <= 0) return undefined
  }
  return undefined
}
