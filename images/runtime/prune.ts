/**
 * Removes bundles that nobody uses any more: each has a hundred megabytes, and every change of the daemon makes one. In
 * use are the one that `current` points to, those that a daemon has locked (it hides its files from others), those that
 * another program runs from or that are mounted somewhere, and those whose directory a process has open (a server makes
 * new sandboxes from the bundle that it began with).
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

/** So many of the newest are always kept, to go back to after an upgrade. */
const keptCount = 5
/** Younger ones are always kept, in milliseconds: a process may have read the path and not used it yet. */
const keptMs = 60 * 60_000

const bundleName = /^[0-9a-f]{32}$/

const unknown = new Set(['ENOENT', 'ESRCH', 'EINVAL', 'EACCES', 'EPERM'])

/** What `read` returns; undefined when the process is gone, has no such file, or does not show it. */
const ifThere = <T>(read: () => T): T | undefined => {
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

/** Files that one process runs or holds open. */
const filesOf = (process: string): string[] => {
  const descriptors = ifThere(() => readdirSync(join(process, 'fd'))) ?? []
  return ['exe', 'cwd', ...descriptors.map(name => join('fd', name))].flatMap(
    name => identity(join(process, name)) ?? [],
  )
}

/** Whether a daemon has locked the bundle; when that cannot be read, it counts as locked. */
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
    // The fourth field is the directory within its file system, wherever that is mounted.
    for (const line of mounts.split('\n'))
      for (const name of names) if (line.split(' ')[3]?.endsWith(`/${name}`)) used.add(name)
  }
  return used
}

/** Removes unused bundles from the directory and returns their names; `now` in epoch milliseconds. */
export const pruneBundles = (dir: string, now: number): string[] => {
  const age = (name: string): number => now - (ifThere(() => statSync(join(dir, name, '.inputs')).mtimeMs) ?? 0)
  const all = readdirSync(dir)
  // Remains of a build or a removal that was killed.
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
    // Nobody must find half of a bundle.
    renameSync(join(dir, name), join(dir, `.gone-${name}`))
    rmSync(join(dir, `.gone-${name}`), { recursive: true, force: true })
  }
  return gone
}
