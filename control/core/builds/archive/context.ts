/** From an archive to the stream of a tar that is unpacked in a builder. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pack as newPack, type Pack } from 'tar-stream'
import type { Archive, ArchiveEntry } from './zip.ts'

export interface ContextOptions {
  /** Names that stay out: secrets of the build, which no layer is to have. */
  readonly without: ReadonlySet<string>
  /** Files beside those of the archive, by their names; they take the place of an entry. */
  readonly added: Readonly<Record<string, string>>
}

/** The same time for every file: a layer depends on what is in it, not on when it was packed. */
const mtime = new Date(0)

const addFile = async (pack: Pack, archive: Archive, { name, size, mode }: ArchiveEntry): Promise<void> => {
  const from = await archive.open(name)
  await pipeline(from, pack.entry({ name, size, mode, mtime }))
}

const add = async (pack: Pack, archive: Archive, entry: ArchiveEntry): Promise<void> => {
  const { name, type, mode, target } = entry
  if (type === 'file') return addFile(pack, archive, entry)
  if (type === 'link') pack.entry({ name, type: 'symlink', linkname: target, mode, mtime })
  else pack.entry({ name: `${name}/`, type: 'directory', mode, mtime })
}

const fill = async (pack: Pack, archive: Archive, { without, added }: ContextOptions): Promise<void> => {
  for (const entry of archive.entries.values())
    if (!without.has(entry.name) && !Object.hasOwn(added, entry.name)) await add(pack, archive, entry)
  for (const [name, content] of Object.entries(added)) pack.entry({ name, mode: 0o644, mtime }, content)
  pack.finalize()
}

/** Fails with what is wrong with an entry. */
export const contextOf = (archive: Archive, options: ContextOptions): Readable => {
  const pack = newPack()
  fill(pack, archive, options).catch((error: Error) => pack.destroy(error))
  return Readable.from(pack)
}
