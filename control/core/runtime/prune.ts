/** Removes bundles that nobody uses any more: each has a hundred megabytes, and every change of the daemon makes one. */
import { existsSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { bundlesInUse, ifThere } from './in-use.ts'

/** So many of the newest are always kept, to go back to after an upgrade. */
const keptCount = 5
/** Younger ones are always kept, in milliseconds: a process may have read the path and not used it yet. */
const keptMs = 60 * 60_000

export const bundleName = /^[0-9a-f]{32}$/

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
