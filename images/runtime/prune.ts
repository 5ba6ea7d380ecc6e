/**
 * Takes away bundles that nobody uses any more: each has a hundred megabytes, and every change of the daemon makes one.
 * Used are the one that `current` leads to, those that a daemon has locked (it hides from everybody else), those that
 * another program runs from or that are mounted somewhere, and those whose directory somebody holds open (a server makes
 * new sandboxes of the bundle that it began with). A sandbox has overlays of bundles, in which files are others than here
 * and locks their own: there they are known by their names.
 */
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { loaderName } from './binaries.ts'

/** Kept in any case, newest first: the ways back of an upgrade. */
const keptCount = 5
/** Kept in any case, in milliseconds: whoever has just read where the bundle lies has yet to use it. */
const keptMs = 60 * 60_000

const bundleName = /^[0-9a-f]{32}$/

const unknown = new Set(['ENOENT', 'ESRCH', 'EINVAL', 'EACCES', 'EPERM'])

/** What `read` gives, or undefined where a process is gone by then, has nothing of the kind, or shows it to nobody. */
const ifThere = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch (error) {
    if (unknown.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** A file's identity, whatever path it is seen by. */
const identity = (path: string): string | undefined =>
  ifThere(() => {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  })

/** Files that one process runs or holds open: what they are, and their paths as it sees them. */
const filesOf = (process: string): { identities: string[]; paths: string[] } => {
  const descriptors = ifThere(() => readdirSync(join(process, 'fd'))) ?? []
  const links = ['exe', 'cwd', ...descriptors.map(name => join('fd', name))].map(name => join(process, name))
  return {
    identities: links.flatMap(link => identity(link) ?? []),
    paths: links.flatMap(link => ifThere(() => readlinkSync(link)) ?? []),
  }
}

/** Whether a line of mountinfo shows the bundle, by its directory in the file system or as a layer of an overlay. */
const shows = (line: string, name: string): boolean =>
  line.split(' ')[3]?.endsWith(`/${name}`) === true || line.includes(`lowerdir=bundle/${name}:`)

/** Whether a daemon holds the bundle; what cannot be found out counts as held. */
const isLocked = (bundle: string): boolean => {
  const facts = join(bundle, 'bundle.json')
  if (!existsSync(facts)) return false
  return spawnSync('flock', ['--exclusive', '--nonblock', facts, 'true'], { stdio: 'ignore' }).status !== 0
}

/** Names of the bundles in `dir` that something uses now. */
const bundlesInUse = (dir: string, names: readonly string[]): Set<string> => {
  const proc = '/proc'
  const used = new Set(names.filter(name => isLocked(join(dir, name))))
  const owner = new Map<string, string>()
  for (const name of names)
    for (const path of ['', 'releases', join('lib', loaderName), 'bin/node']) {
      const found = identity(join(dir, name, path))
      if (found !== undefined) owner.set(found, name)
    }
  const namespaces = new Set<string>()
  for (const pid of readdirSync(proc)) {
    if (!/^\d+$/.test(pid)) continue
    const process = join(proc, pid)
    const { identities, paths } = filesOf(process)
    for (const file of identities) {
      const name = owner.get(file)
      if (name !== undefined) used.add(name)
    }
    for (const name of names) if (paths.some(path => path.includes(`/releases/${name}/`))) used.add(name)
    const namespace = ifThere(() => readlinkSync(join(process, 'ns/mnt')))
    if (namespace === undefined || namespaces.has(namespace)) continue
    namespaces.add(namespace)
    const mounts = ifThere(() => readFileSync(join(process, 'mountinfo'), 'utf8')) ?? ''
    for (const line of mounts.split('\n')) for (const name of names) if (shows(line, name)) used.add(name)
  }
  return used
}

/** Removes what is not used from the directory of bundles and gives the names; `now` in epoch milliseconds. */
export const pruneBundles = (dir: string, now: number): string[] => {
  const age = (name: string): number => now - (ifThere(() => statSync(join(dir, name, '.inputs')).mtimeMs) ?? 0)
  const all = readdirSync(dir)
  // What a build or a removal that was killed has left.
  for (const name of all)
    if (/^\.(new|gone)-/.test(name) && now - statSync(join(dir, name)).mtimeMs > keptMs)
      rmSync(join(dir, name), { recursive: true, force: true })
  const bundles = all.filter(name => bundleName.test(name)).sort((a, b) => age(a) - age(b))
  const current = existsSync(join(dir, 'current')) ? realpathSync(join(dir, 'current')) : ''
  const old = bundles.slice(keptCount).filter(name => age(name) > keptMs && join(realpathSync(dir), name) !== current)
  if (old.length === 0) return []
  const used = bundlesInUse(dir, old)
  const gone = old.filter(name => !used.has(name))
  for (const name of gone) {
    // Nobody is to find half of a bundle.
    renameSync(join(dir, name), join(dir, `.gone-${name}`))
    rmSync(join(dir, `.gone-${name}`), { recursive: true, force: true })
  }
  return gone
}
