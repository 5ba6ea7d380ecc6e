/**
 * Which process of a machine has the socket with that local port, by the kernel's own tables. Runs beside hostile processes: what it
 * reads is bounded, and one that hides among thousands is not found.
 */
import { open, readFile } from 'node:fs/promises'
import type { ProcessFacts } from '../../driver.ts'
import { holderOf } from './socket-holder.ts'

const most = { table: 1024 * 1024, text: 4_096 } as const

const readBounded = async (file: string, bytes: number): Promise<string> => {
  const opened = await open(file)
  try {
    const buffer = Buffer.alloc(bytes)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes; length += read)
      ({ bytesRead: read } = await opened.read(buffer, length, bytes - length))
    return buffer.toString('utf8', 0, length)
  } finally {
    await opened.close()
  }
}

/** `  4: 0300000A:C350 …`: the tenth column is the inode. */
const inodeOf = (table: string, port: number): string | undefined => {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const line = table.split('\n').find(one => one.trim().split(/\s+/)[1]?.endsWith(`:${hex}`))
  const inode = line?.trim().split(/\s+/)[9]
  return inode === '0' ? undefined : inode
}

const factsOf = async (pid: number): Promise<ProcessFacts> => {
  const [status, name, command] = await Promise.all([
    readFile(`/proc/${pid}/status`, 'utf8'),
    readFile(`/proc/${pid}/comm`, 'utf8'),
    readBounded(`/proc/${pid}/cmdline`, most.text),
  ])
  const inside = /^NSpid:.*?(\d+)$/m.exec(status)?.[1]
  return {
    ...(inside ? { pid: Number(inside) } : {}),
    process: name.trim(),
    words: command.replace(/\0+$/, '').split('\0'),
  }
}

/** `pids` are those of the machine, all in its network namespace unless they have left it. */
export const processAt = async (pids: readonly number[], port: number): Promise<ProcessFacts | undefined> => {
  const [first] = pids
  if (first === undefined) return undefined
  const inodeIn = async (table: string) =>
    inodeOf(await readBounded(`/proc/${first}/net/${table}`, most.table).catch(() => ''), port)
  // Some programs (Java) say IPv4 through sockets of IPv6.
  const inode = (await inodeIn('tcp')) ?? (await inodeIn('tcp6'))
  const holder = inode === undefined ? undefined : await holderOf(pids, inode)
  return holder === undefined ? undefined : factsOf(holder)
}
