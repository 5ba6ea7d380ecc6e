/** Sends a directory or file as a tar stream while it is walked; nothing is collected first. */
import fs, { constants } from 'node:fs'
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack, type Header as FullHeader, type Pack } from 'tar-stream'
import { errno } from '../../../shared/errors.ts'
import type { Pump } from '../../../shared/route.ts'
import { wellFormed } from '../../../shared/utf8.ts'
import { bundleMount } from '../../init/sandbox.ts'
import { dropFd, readFd } from '../descriptor.ts'
import { kernelFilesystems } from '../kernel-filesystems.ts'
import type { Owners } from '../owners.ts'
import type { FilePort, FileStat } from '../port.ts'
import { toFileStat } from '../stat.ts'

interface Deps {
  readonly port: FilePort
  readonly owners: Owners
}

/** One archive on its way out. */
interface Packing extends Deps {
  readonly archive: Pack
  readonly signal: AbortSignal
  /** Names of files with hard links, by device and inode: later names are archived as links to the first. */
  readonly linked: Map<string, string>
}

type Header = Partial<FullHeader> & { name: string }

/** Of archives of what is above them only the names are in it: nobody can read all of the kernel's, and the bundle is not the tenant's. */
const closed: ReadonlySet<string> = new Set([...kernelFilesystems, bundleMount])
/** Its loader may be run by all and read by none. */
const isOfBundle = (path: string): boolean => path.startsWith(`${bundleMount}/`)
const readBytes = 256 * 1024
/** The largest values that fit into the plain header, as tar-stream writes it. */
const [maxId, maxTime] = [0o777777, 2 ** 31 - 1]
const maxNameLength = 31

/** Values that do not fit into the plain header, as records of the extended one. */
const extended = (uid: number, gid: number, mtime: number): { pax?: Record<string, string> } => {
  const pax: Record<string, string> = {}
  if (uid > maxId) pax['uid'] = String(uid)
  if (gid > maxId) pax['gid'] = String(gid)
  if (mtime < 0 || mtime > maxTime) pax['mtime'] = String(mtime)
  return Object.keys(pax).length > 0 ? { pax } : {}
}

const headerOf = ({ owners }: Deps, name: string, stat: FileStat): Header => {
  const { uid, gid, mode, mtimeNs } = stat
  const mtime = Number(mtimeNs / 1_000_000_000n)
  return {
    ...extended(uid, gid, mtime),
    name: wellFormed(name),
    // Including the bits of the file's type: tar-stream takes a mode of 0 for none.
    mode,
    uid,
    gid,
    uname: owners.user(uid).slice(0, maxNameLength),
    gname: owners.group(gid).slice(0, maxNameLength),
    mtime: new Date(Math.min(Math.max(mtime, 0), maxTime) * 1000),
  }
}

const nothing = Buffer.alloc(0)

/** Adds an entry without content and waits until there is room for the next. */
const plain = ({ archive }: Packing, header: Header): Promise<void> =>
  new Promise((resolve, reject) => {
    archive.entry(header, nothing, error => (error ? reject(error) : resolve()))
  })

const identified = (fd: number): Promise<{ stat: FileStat; links: bigint; id: string }> =>
  new Promise((resolve, reject) =>
    fs.fstat(fd, { bigint: true }, (error, stats) =>
      error ? reject(error) : resolve({ stat: toFileStat(stats), links: stats.nlink, id: `${stats.dev}:${stats.ino}` }),
    ),
  )

/** Exactly `size` bytes: a file that grows meanwhile is cut, one that shrinks is filled with zeros, as tar does. */
const addContent = ({ archive }: Packing, header: Header, fd: number, size: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const entry = archive.entry({ ...header, type: 'file', size }, error => (error ? reject(error) : resolve()))
    let wake = () => {}
    // An entry whose archive is destroyed emits the error; without a listener that would end the process.
    entry
      .on('drain', () => wake())
      .on('close', () => wake())
      .on('error', reject)
    const send = async () => {
      for (let sent = 0; sent < size; ) {
        const block = Buffer.allocUnsafeSlow(Math.min(readBytes, size - sent))
        const count = await readFd(fd, block, sent)
        const chunk = count === 0 ? block.fill(0) : block.subarray(0, count)
        sent += chunk.length
        const room = new Promise<void>(resolve => {
          wake = resolve
        })
        if (!entry.write(chunk) && !entry.destroyed) await room
        if (entry.destroyed) throw new Error('the client went away')
      }
      entry.end(undefined)
    }
    send().catch(reject)
  })

const addFile = async (packing: Packing, path: string, name: string): Promise<void> => {
  const { port, linked } = packing
  const fd = await port.open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { stat, links, id } = await identified(fd)
    const header = headerOf(packing, name, stat)
    const first = links > 1n ? linked.get(id) : undefined
    if (first !== undefined) return await plain(packing, { ...header, type: 'link', linkname: wellFormed(first) })
    if (links > 1n) linked.set(id, name)
    if (stat.size === 0) await plain(packing, { ...header, type: 'file' })
    else await addContent(packing, header, fd, stat.size)
  } finally {
    dropFd(fd)
  }
}

const addDirectory = async (packing: Packing, path: string, name: string, stat: FileStat): Promise<void> => {
  const entries = name !== '' && closed.has(path) ? [] : await packing.port.readdir(path)
  if (name !== '') await plain(packing, { ...headerOf(packing, `${name}/`, stat), type: 'directory' })
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries)
    try {
      await addEntry(packing, posix.join(path, entry.name), posix.join(name, entry.name))
    } catch (error) {
      // Removed since it was listed. Any other failure cuts the answer, so that the client sees it.
      if (errno(error) !== 'ENOENT' && !(errno(error) === 'EACCES' && isOfBundle(path))) throw error
    }
}

/** Fails with `ENOENT` only before anything of the entry was sent. */
const addEntry = async (packing: Packing, path: string, name: string): Promise<void> => {
  packing.signal.throwIfAborted()
  const { port } = packing
  const stat = await port.lstat(path)
  if (stat.kind === 'file') return addFile(packing, path, name)
  if (stat.kind === 'directory') return addDirectory(packing, path, name, stat)
  // Sockets, fifos and devices mean nothing anywhere else.
  if (stat.kind !== 'symlink') return undefined
  const linkname = wellFormed(await port.readlink(path))
  return plain(packing, { ...headerOf(packing, name, stat), type: 'symlink', linkname })
}

/** Names in the archive are relative to `path`; a single file has its base name. */
export const archivePump =
  (path: string, kind: 'directory' | 'file', gzip: boolean, deps: Deps): Pump =>
  async (out, signal) => {
    await deps.owners.refresh()
    const archive = pack()
    const fill = async () => {
      const packing = { ...deps, archive, signal, linked: new Map<string, string>() }
      await addEntry(packing, path, kind === 'file' ? posix.basename(path) : '')
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
