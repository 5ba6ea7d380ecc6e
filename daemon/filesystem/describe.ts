/** The JSON forms of files and directories. */
import { posix } from 'node:path'
import type { Out } from '../../shared/schema.ts'
import type { directoryShape, fileEntryShape } from '../../shared/wire/file-shapes.ts'
import { escaped } from '../../shared/utf8.ts'
import { permissionsOf } from './mode.ts'
import type { Owners } from './owners.ts'
import type { Entry, FileStat } from './port.ts'
import { rfc3339 } from '../times.ts'

export type FileEntry = Out<typeof fileEntryShape>
export type DirectoryObject = Out<typeof directoryShape>

/** For a name that is not UTF-8. */
const escapedName = (name: string) => (name.isWellFormed() ? undefined : { escapedName: escaped(name) })

interface Escapes {
  readonly escapedName?: string
  readonly escapedPath?: string
}

/** For a path of which a part is not UTF-8: its last part and the whole, as they are written in an address. */
export const escapesOf = (path: string): Escapes =>
  path.isWellFormed()
    ? {}
    : { ...escapedName(posix.basename(path)), escapedPath: path.split('/').map(escaped).join('/') }

/** What one file looks like; `link` is the stat of the link it was reached by, whose owner is shown. */
export const fileEntry = (path: string, name: string, stat: FileStat, owners: Owners, link = stat): FileEntry => ({
  path,
  name,
  ...escapedName(name),
  permissions: permissionsOf(stat.mode),
  size: stat.size,
  lastModified: rfc3339(stat.mtimeNs),
  owner: owners.user(link.uid),
  group: owners.group(link.gid),
})

/** The base name; of `/` it is `/`. */
export const nameOf = (path: string): string => posix.basename(path) || '/'

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)

/** One level; links to directories count as files. */
export const directoryObject = (
  path: string,
  entries: readonly (Entry & { readonly stat: FileStat })[],
  owners: Owners,
): DirectoryObject => {
  const files: FileEntry[] = []
  const subdirectories: DirectoryObject['subdirectories'] = []
  // Names hold no slash, so that joining each to the path is appending it to the same text.
  const before = posix.join(path, 'x').slice(0, -1)
  for (const { name, kind, stat } of entries) {
    const at = before + name
    if (kind === 'directory') subdirectories.push({ path: at, name, ...escapedName(name) })
    else files.push(fileEntry(at, name, stat, owners))
  }
  return { path, name: nameOf(path), files: files.sort(byName), subdirectories: subdirectories.sort(byName) }
}
