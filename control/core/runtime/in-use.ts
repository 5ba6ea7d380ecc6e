/**
 * Who uses what was built, as the kernel tells it of every process of this machine; only root is told everything. A bundle
 * is used that a daemon has locked (it hides its files from others), that another program runs from, that is mounted
 * somewhere, or whose directory a process has open: a server makes new sandboxes from the bundle that it began with. The
 * tree of an image is used that is below an overlay.
 *
 * A sandbox has overlays of both, in which files are others than here and locks their own: there bundles are known by their
 * names, and trees by their digests. Those of versions before have the bundle itself, and the image by its path.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { loaderName } from '../../../shared/bundle.ts'

const unknown = new Set(['ENOENT', 'ESRCH', 'EINVAL', 'EACCES', 'EPERM'])

/** What `read` returns; undefined when the process is gone, has no such file, or does not show it. */
export const ifThere = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch (error) {
    if (unknown.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** A file's identity, whatever its path. */
const identity = (path: string): string | undefined =>
  ifThere(() => {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  })

/** Files that one process runs or holds open, as links that lead to them. */
const linksOf = (process: string): string[] => {
  const descriptors = ifThere(() => readdirSync(join(process, 'fd'))) ?? []
  return ['exe', 'cwd', ...descriptors.map(name => join('fd', name))].map(name => join(process, name))
}

const filesOf = (process: string): string[] => linksOf(process).flatMap(link => identity(link) ?? [])

/** Their paths as the process sees them. */
const pathsOf = (process: string): string[] => linksOf(process).flatMap(link => ifThere(() => readlinkSync(link)) ?? [])

/** Whether a daemon has locked the bundle; when that cannot be read, it counts as locked. */
const isLocked = (bundle: string): boolean => {
  const facts = join(bundle, 'bundle.json')
  if (!existsSync(facts)) return false
  return spawnSync('flock', ['--exclusive', '--nonblock', facts, 'true'], { stdio: 'ignore' }).status !== 0
}

/** Directories in /proc of all processes. */
const processes = (): string[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(pid => join('/proc', pid))

/** Tables of mounts of this machine, one for each namespace that has any. */
const mountTables = (): string[] => {
  const tables = new Map<string, string>()
  for (const process of processes()) {
    const namespace = ifThere(() => readlinkSync(join(process, 'ns/mnt')))
    if (namespace === undefined || tables.has(namespace)) continue
    tables.set(namespace, ifThere(() => readFileSync(join(process, 'mountinfo'), 'utf8')) ?? '')
  }
  return [...tables.values()]
}

/** Names of bundles in `dir` of which some process runs or holds open a file. */
const heldBundles = (dir: string, names: readonly string[]): string[] => {
  const owner = new Map<string, string>()
  for (const name of names)
    for (const path of ['', 'releases', join('lib', loaderName), 'bin/node']) {
      const found = identity(join(dir, name, path))
      if (found !== undefined) owner.set(found, name)
    }
  return processes().flatMap(process => [
    ...filesOf(process).flatMap(file => owner.get(file) ?? []),
    ...pathsOf(process).flatMap(path => names.filter(name => path.includes(`/releases/${name}/`))),
  ])
}

/**
 * Whether a line of mountinfo shows the bundle: by the fourth field, the directory within its file system, whatever it is
 * called where it is mounted; or as a layer of an overlay.
 */
const shows = (line: string, name: string): boolean =>
  line.split(' ')[3]?.endsWith(`/${name}`) === true || line.includes(`lowerdir=bundle/${name}:`)

/** Names of the bundles in `dir` that something uses now. */
export const bundlesInUse = (dir: string, names: readonly string[]): Set<string> => {
  const used = new Set([...names.filter(name => isLocked(join(dir, name))), ...heldBundles(dir, names)])
  for (const line of mountTables().flatMap(table => table.split('\n')))
    for (const name of names) if (shows(line, name)) used.add(name)
  return used
}

/** Whether a server makes sandboxes of a bundle in `dir`: it holds the directory of the bundle open. */
export const isServed = (dir: string, names: readonly string[]): boolean => {
  const directories = new Set(names.flatMap(name => identity(join(dir, name)) ?? []))
  return processes().some(process => filesOf(process).some(file => directories.has(file)))
}

/** Digests of the image trees that sandboxes have below their own files. */
export const treesInUse = (digests: readonly string[]): Set<string> => {
  const overlays = mountTables()
    .flatMap(table => table.split('\n'))
    .filter(line => line.includes(' - overlay '))
  const isBelow = (line: string, digest: string) =>
    line.includes(`lowerdir=image/${digest},`) || line.includes(`/trees/${digest}/rootfs`)
  return new Set(digests.filter(digest => overlays.some(line => isBelow(line, digest))))
}
