import { posix } from 'node:path'
import { errno } from '../../shared/errors.ts'
import { kernelFilesystems } from '../filesystem/kernel-filesystems.ts'
import type { FilePort } from '../filesystem/port.ts'

/** Which entries a walk skips, by their name and the directory that they are in. */
interface WalkOptions {
  /** Whether to descend into a directory of that name. */
  readonly enter?: (name: string) => boolean
  readonly signal?: AbortSignal
}

/**
 * Regular files below `root`, shallow ones first. Links are not followed. Left out are `/proc`, `/sys`, and entries
 * below `root` that cannot be read or disappear meanwhile; a `root` that cannot be read throws the port's error.
 */
export async function* walk(port: FilePort, root: string, options: WalkOptions = {}): AsyncGenerator<string> {
  const { enter = () => true, signal } = options
  const open = [root]
  for (let dir = open.shift(); dir !== undefined; dir = open.shift()) {
    signal?.throwIfAborted()
    const entries = await port.readdir(dir).catch(error => {
      if (dir === root || errno(error) === undefined) throw error
      return []
    })
    for (const { name, kind } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = posix.join(dir, name)
      if (kind === 'file') yield path
      else if (kind === 'directory' && enter(name) && !kernelFilesystems.has(path)) open.push(path)
    }
  }
}
