/**
 * Takes away bundles that nobody uses any more: each has a hundred megabytes, and every change of the daemon makes one.
 * Used are the one that `current` leads to, those that a daemon has locked (it hides from everybody else), those that
 * another program runs from or that are mounted somewhere, and those whose directory somebody holds open (a server makes
 * new sandboxes of the bundle that it began with).
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

/** Files that one process runs or holds open. */
const filesOf = (process: string): string[] => {
  const descriptors = ifThere(() => readdirSync(join(process, 'fd'))) ?? []
  return ['exe', 'cwd', ...descriptors.map(name => join('fd', name))].flatMap(
    name => identity(join(process, name)) ?? [],
  )
}

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
    for (const file of filesOf(process)) {
      const name = owner.get(file)
      if (name !== undefined) used.add(name)
    }
    const namespace = ifThere(() => readlinkSync(join(process, 'ns/mnt')))
    if (namespace === undefined || namespaces.has(namespace)) continue
    namespaces.add(namespace)
    const mounts = ifThere(() => readFileSync(join(process, 'mountinfo'), 'utf8')) ?? ''
    // The fourth field is the directory within its file system, whatever it is called where it is mounted.
    for (const line of mounts.split('\n'))
      for (const name of names) if (line.split(' ')[3]?.endsWith(`/${name}`)) used.add(name)
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
