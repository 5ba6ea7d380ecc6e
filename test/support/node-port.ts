/** The port to the file system by node:fs: what the daemon's own must agree with. */
import fs, { constants, type Dirent } from 'node:fs'
import { errno } from '../../shared/errors.ts'
import { statFd } from '../../daemon/filesystem/descriptor.ts'
import { toFileStat } from '../../daemon/filesystem/stat.ts'
import type { Entry, FileKind, FilePort, FileStat } from '../../daemon/filesystem/port.ts'

const always = constants.O_NONBLOCK | constants.O_NOCTTY

const kindOf = (entry: Dirent): FileKind => {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  if (entry.isSymbolicLink()) return 'symlink'
  if (entry.isFIFO()) return 'fifo'
  if (entry.isSocket()) return 'socket'
  if (entry.isBlockDevice()) return 'block'
  return 'char'
}

type Done<T> = (error: NodeJS.ErrnoException | null, value: T) => void

const asked = <T>(run: (done: Done<T>) => void): Promise<T> =>
  new Promise((resolve, reject) => run((error, value) => (error ? reject(error) : resolve(value))))

const done = (run: (done: (error: NodeJS.ErrnoException | null) => void) => void): Promise<void> =>
  new Promise((resolve, reject) => run(error => (error ? reject(error) : resolve())))

const statted = (path: string, run: typeof fs.lstat): Promise<FileStat> =>
  new Promise((resolve, reject) =>
    run(path, { bigint: true }, (error, stats) => (error ? reject(error) : resolve(toFileStat(stats)))),
  )

const readdir = (path: string): Promise<Entry[]> =>
  new Promise((resolve, reject) =>
    fs.readdir(path, { withFileTypes: true }, (error, entries) =>
      error ? reject(error) : resolve(entries.map(entry => ({ name: entry.name, kind: kindOf(entry) }))),
    ),
  )

/** How many stats of one listing are under way at once; the thread pool has four threads. */
const statsAtOnce = 16

const list: FilePort['list'] = async path => {
  const entries = await readdir(path)
  const base = path === '/' ? '' : path
  const found: (Entry & { stat: FileStat })[] = []
  let next = 0
  const worker = async () => {
    while (next < entries.length) {
      const { name } = entries[next++] as Entry
      try {
        const stat = await statted(`${base}/${name}`, fs.lstat)
        found.push({ name, kind: stat.kind, stat })
      } catch (error) {
        // Removed between the two calls: it is no longer part of the directory.
        if (errno(error) !== 'ENOENT') throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(statsAtOnce, entries.length) }, worker))
  return found
}

const removeTree = async (path: string): Promise<void> => {
  // `force` is off, so that a missing path is an error.
  await done(end => fs.rm(path, { recursive: true, maxRetries: 3 }, end))
}

const mkdir = (path: string, mode: number): Promise<void> =>
  new Promise((resolve, reject) =>
    fs.mkdir(path, mode, async error => {
      if (!error) return resolve()
      const code = errno(error)
      if (code === 'EEXIST') {
        const stat = await statted(path, fs.stat as typeof fs.lstat).catch(() => undefined)
        return stat?.kind === 'directory' ? resolve() : reject(error)
      }
      const parent = path.slice(0, path.lastIndexOf('/')) || '/'
      if (code !== 'ENOENT' || parent === path) return reject(error)
      mkdir(parent, 0o755).then(() => mkdir(path, mode).then(resolve, reject), reject)
    }),
  )

/** What node:fs has no word for. */
type OurOwn = 'walk' | 'search' | 'mayWrite' | 'nameFd' | 'resemble' | 'chownFd' | 'chmodFd' | 'stage' | 'publish'

export const nodePort = (): Omit<FilePort, OurOwn> => ({
  open: (path, flags, mode = 0o666) => asked(end => fs.open(path, flags | always, mode, end)),
  async openRead(path, flags) {
    const fd = await asked<number>(end => fs.open(path, flags | always, end))
    return { fd, stat: await statFd(fd) }
  },
  stat: path => statted(path, fs.stat as typeof fs.lstat),
  lstat: path => statted(path, fs.lstat),
  readdir,
  list,
  mkdir,
  readlink: path => asked<string>(end => fs.readlink(path, 'utf8', end as Done<string>)),
  realpath: path => asked<string>(end => fs.realpath.native(path, 'utf8', end as Done<string>)),
  symlink: (target, path) => done(end => fs.symlink(target, path, end)),
  link: (from, to) => done(end => fs.link(from, to, end)),
  chown: (path, uid, gid) => done(end => fs.lchown(path, uid, gid, end)),
  chmod: (path, mode) => done(end => fs.chmod(path, mode, end)),
  touch: (path, mtimeNs) => done(end => fs.lutimes(path, Number(mtimeNs) / 1e9, Number(mtimeNs) / 1e9, end)),
  rename: (from, to) => done(end => fs.rename(from, to, end)),
  unlink: path => done(end => fs.unlink(path, end)),
  rmdir: path => done(end => fs.rmdir(path, end)),
  removeTree,
  adopt: (from, to) => done(end => fs.rename(from, to, end)),
})
