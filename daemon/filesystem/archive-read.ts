/** Sends a directory or file as a tar stream while it is walked; nothing is collected first. */
import fs, { constants } from 'node:fs'
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { errno } from '../../shared/errors.ts'
import type { Pump } from '../../shared/route.ts'
import { dropFd, readFd } from './descriptor.ts'
import type { Owners } from './owners.ts'
import type { FilePort, FileStat } from './port.ts'
import { toFileStat } from './stat.ts'
import { blockBytes as tarBlock, encodeHeader } from './tar/header.ts'

interface Deps {
  readonly port: FilePort
  readonly owners: Owners
}

/** One archive on its way out. */
interface Packing extends Deps {
  readonly signal: AbortSignal
  /** Names of files with several, by what they are on disk: the second time only the first name is told. */
  readonly linked: Map<string, string>
}

type Chunks = AsyncGenerator<Buffer, void, void>

const readBytes = 256 * 1024

const header = (
  { owners }: Deps,
  name: string,
  stat: FileStat,
  type: string,
  more: { size?: number; linkname?: string },
) =>
  encodeHeader(
    {
      name,
      type,
      mode: stat.mode,
      uid: stat.uid,
      gid: stat.gid,
      mtime: Number(stat.mtimeNs / 1_000_000_000n),
      size: more.size ?? 0,
      linkname: more.linkname ?? '',
    },
    { user: owners.user(stat.uid), group: owners.group(stat.gid) },
  )

const identified = (fd: number): Promise<{ stat: FileStat; links: bigint; id: string }> =>
  new Promise((resolve, reject) =>
    fs.fstat(fd, { bigint: true }, (error, stats) =>
      error ? reject(error) : resolve({ stat: toFileStat(stats), links: stats.nlink, id: `${stats.dev}:${stats.ino}` }),
    ),
  )

/** Exactly `size` bytes: a file that grows meanwhile is cut, one that shrinks is filled with zeros, as tar does. */
async function* contentOf(fd: number, size: number, signal: AbortSignal): Chunks {
  for (let sent = 0; sent < size; ) {
    signal.throwIfAborted()
    const block = Buffer.allocUnsafeSlow(Math.min(readBytes, size - sent))
    const count = await readFd(fd, block, sent)
    const chunk = count === 0 ? block.fill(0) : block.subarray(0, count)
    sent += chunk.length
    yield chunk
  }
  const rest = size % tarBlock
  if (rest > 0) yield Buffer.alloc(tarBlock - rest)
}

async function* fileEntry(packing: Packing, path: string, name: string): Chunks {
  const { port, linked, signal } = packing
  const fd = await port.open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { stat, links, id } = await identified(fd)
    const first = links > 1n ? linked.get(id) : undefined
    if (first !== undefined) return yield header(packing, name, stat, '1', { linkname: first })
    if (links > 1n) linked.set(id, name)
    yield header(packing, name, stat, '0', { size: stat.size })
    yield* contentOf(fd, stat.size, signal)
  } finally {
    dropFd(fd)
  }
}

async function* directoryEntry(packing: Packing, path: string, name: string, stat: FileStat): Chunks {
  const entries = await packing.port.readdir(path)
  if (name !== '') yield header(packing, `${name}/`, stat, '5', {})
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries)
    try {
      yield* entryOf(packing, posix.join(path, entry.name), posix.join(name, entry.name))
    } catch (error) {
      // Removed since it was listed; any other failure must show, so it cuts the answer.
      if (errno(error) !== 'ENOENT') throw error
    }
}

/** Fails with `ENOENT` only before anything of the entry was told. */
async function* entryOf(packing: Packing, path: string, name: string): Chunks {
  packing.signal.throwIfAborted()
  const { port } = packing
  const stat = await port.lstat(path)
  if (stat.kind === 'file') yield* fileEntry(packing, path, name)
  else if (stat.kind === 'directory') yield* directoryEntry(packing, path, name, stat)
  else if (stat.kind === 'symlink') yield header(packing, name, stat, '2', { linkname: await port.readlink(path) })
  // Sockets, fifos and devices mean nothing anywhere else.
}

async function* archiveOf(packing: Packing, path: string, name: string): Chunks {
  yield* entryOf(packing, path, name)
  yield Buffer.alloc(2 * tarBlock)
}

/** Names in the archive are relative to `path`; a single file has its base name. */
export const archivePump =
  (path: string, kind: 'directory' | 'file', gzip: boolean, deps: Deps): Pump =>
  async (out, signal) => {
    await deps.owners.refresh()
    const packing = { ...deps, signal, linked: new Map<string, string>() }
    const chunks = archiveOf(packing, path, kind === 'file' ? posix.basename(path) : '')
    const source = Readable.from(chunks, { objectMode: false, highWaterMark: readBytes })
    // The server ends the answer itself, once this resolves.
    await (gzip
      ? pipeline(source, createGzip({ level: 1, chunkSize: 256 * 1024 }), out, { end: false })
      : pipeline(source, out, { end: false }))
  }
