/** Sends a directory or file as a tar stream while it is walked; nothing is collected first. */
import { constants } from 'node:fs'
import { posix } from 'node:path'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack, type Header as FullHeader, type Pack } from 'tar-stream'
import { errno } from '../../shared/errors.ts'
import type { Pump } from '../../shared/route.ts'
import { dropFd, readFd, statFd } from './descriptor.ts'
import type { Owners } from './owners.ts'
import type { FilePort, FileStat } from './port.ts'

interface Deps {
  readonly port: FilePort
  readonly owners: Owners
}

type Header = Partial<FullHeader> & { name: string }

const blockBytes = 256 * 1024

const headerOf = (name: string, stat: FileStat, owners: Owners): Header => ({
  name,
  mode: stat.mode & 0o7777,
  uid: stat.uid,
  gid: stat.gid,
  uname: owners.user(stat.uid),
  gname: owners.group(stat.gid),
  mtime: new Date(Number(stat.mtimeNs / 1_000_000n)),
})

const nothing = Buffer.alloc(0)

/** Adds an entry without content and waits until there is room for the next. */
const plain = (archive: Pack, header: Header): Promise<void> =>
  new Promise((resolve, reject) => {
    archive.entry(header, nothing, error => (error ? reject(error) : resolve()))
  })

/** Exactly `size` bytes: a file that grows meanwhile is cut, one that shrinks is filled with zeros, as tar does. */
const addFile = async (archive: Pack, path: string, name: string, deps: Deps): Promise<void> => {
  const fd = await deps.port.open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const stat = await statFd(fd)
    const { size } = stat
    const header = { ...headerOf(name, stat, deps.owners), type: 'file' as const, size }
    if (size === 0) return await plain(archive, header)
    await new Promise<void>((resolve, reject) => {
      const entry = archive.entry(header, error => (error ? reject(error) : resolve()))
      const send = async () => {
        for (let sent = 0; sent < size; ) {
          const block = Buffer.allocUnsafeSlow(Math.min(blockBytes, size - sent))
          const count = await readFd(fd, block, sent)
          const chunk = count === 0 ? block.fill(0) : block.subarray(0, count)
          sent += chunk.length
          if (!entry.write(chunk)) await Promise.race([once(entry, 'drain'), once(entry, 'close')])
          if (entry.destroyed) throw new Error('the client went away')
        }
        entry.end(undefined)
      }
      send().catch(reject)
    })
  } finally {
    dropFd(fd)
  }
}

const addEntry = async (archive: Pack, path: string, name: string, deps: Deps, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted()
  const { port, owners } = deps
  const stat = await port.lstat(path)
  if (stat.kind === 'file') return addFile(archive, path, name, deps)
  if (stat.kind === 'symlink') {
    const linkname = await port.readlink(path)
    return plain(archive, { ...headerOf(name, stat, owners), type: 'symlink', linkname, size: 0 })
  }
  // Sockets, fifos and devices mean nothing anywhere else.
  if (stat.kind !== 'directory') return undefined
  if (name !== '') await plain(archive, { ...headerOf(`${name}/`, stat, owners), type: 'directory', size: 0 })
  const entries = await port.readdir(path)
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries)
    try {
      await addEntry(archive, posix.join(path, entry.name), posix.join(name, entry.name), deps, signal)
    } catch (error) {
      // Removed since it was listed; any other failure must show, so it cuts the answer.
      if (errno(error) !== 'ENOENT') throw error
    }
}

/** Names in the archive are relative to `path`; a single file has its base name. */
export const archivePump =
  (path: string, kind: 'directory' | 'file', gzip: boolean, deps: Deps): Pump =>
  async (out, signal) => {
    await deps.owners.refresh()
    const archive = pack()
    const fill = async () => {
      await addEntry(archive, path, kind === 'file' ? posix.basename(path) : '', deps, signal)
      archive.finalize()
    }
    const filled = fill().catch(error => {
      archive.destroy(error as Error)
      throw error
    })
    const source = Readable.from(archive as AsyncIterable<Buffer>, { highWaterMark: 1 })
    // The server ends the answer itself, once this resolves.
    const flowing = gzip
      ? pipeline(source, createGzip({ level: 1, chunkSize: 256 * 1024 }), out, { end: false })
      : pipeline(source, out, { end: false })
    const [flow, fault] = await Promise.allSettled([flowing, filled])
    if (fault.status === 'rejected') throw fault.reason
    if (flow.status === 'rejected') throw flow.reason
  }
