import { posix } from 'node:path'
import { errno, messageOf } from '../../shared/errors.ts'
import { semaphore } from '../../shared/sync.ts'
import { kernelFilesystems } from '../filesystem/kernel-filesystems.ts'
import type { FilePort } from '../filesystem/port.ts'
import { draftKind } from '../filesystem/whole/draft-name.ts'
import { changeLine } from './changes.ts'
import type { Directory, Registry } from './registry.ts'

interface ScannerDeps {
  readonly registry: Registry
  readonly files: Pick<FilePort, 'readdir'>
  readonly recursive: boolean
  readonly ignored: (path: string) => boolean
  readonly tell: (line: string) => void
  readonly closed: () => boolean
}

export interface Scanner {
  /** Watches a directory; undefined when it cannot be watched, which is reported unless it has vanished. */
  enter(path: string): { directory: Directory; fresh: boolean } | undefined
  /**
   * Reads a watched directory and, in a recursive watch, enters those in it. `report`: reports what is there as
   * created. `deep`: also reads those that are watched already.
   */
  scan(directory: Directory, how: { report: boolean; deep: boolean }): Promise<void>
  /** The kernel's queue is empty: what scans have reported does not come again. */
  settled(): void
}

const gone = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])
const scansAtOnce = 16

export const createScanner = (deps: ScannerDeps): Scanner => {
  const { registry, files, recursive, ignored, tell, closed } = deps
  const limit = semaphore(scansAtOnce)
  const echoing = new Set<Directory>()

  const complain = (what: string, path: string, error: unknown) => {
    // One that vanished is reported by its parent's events.
    if (!gone.has(errno(error) ?? '')) tell(changeLine('', path, `${what}: ${messageOf(error)}`))
  }
  const enter: Scanner['enter'] = path => {
    try {
      return closed() ? undefined : registry.enter(path)
    } catch (error) {
      complain('not watched', path, error)
      return undefined
    }
  }
  const read = async ({ path }: Directory) => {
    try {
      return closed() ? [] : await files.readdir(path)
    } catch (error) {
      complain('not read', path, error)
      return []
    }
  }
  const scan: Scanner['scan'] = async (directory, how) => {
    const children: Directory[] = []
    const touched = new Set<string>()
    // Before it is read: the watch is set, and events come in already.
    if (how.report) directory.scans.add(touched)
    await limit(async () => {
      const entries = await read(directory)
      directory.scans.delete(touched)
      for (const { name, kind } of entries) {
        const path = posix.join(directory.path, name)
        if (closed() || draftKind(name) !== undefined || ignored(path)) continue
        if (how.report && !touched.has(name)) {
          tell(changeLine('CREATE', path))
          directory.echo.add(name)
          echoing.add(directory)
        }
        const entered = recursive && kind === 'directory' && !kernelFilesystems.has(path) ? enter(path) : undefined
        if (entered && (entered.fresh || how.deep)) children.push(entered.directory)
      }
    })
    await Promise.all(children.map(child => scan(child, how)))
  }
  return {
    enter,
    scan,
    settled() {
      for (const directory of echoing) directory.echo.clear()
      echoing.clear()
    },
  }
}
