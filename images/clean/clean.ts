/** Removes what was built, and leaves what is in use: a sandbox whose image or bundle is taken away runs on without files. */
import { lstatSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { bundlesInUse, ifThere, isServed, treesInUse } from '../../control/core/runtime/in-use.ts'
import { bundleName } from '../../control/core/runtime/prune.ts'

/** In .runtime and beside it: nobody runs from these. */
const neverUsed = [
  '.tap',
  'dist',
  'THIRD-PARTY-NOTICES.txt',
  '.runtime/package',
  '.runtime/clean-root',
  '.runtime/compiled',
  '.runtime/stripped',
]

const list = (dir: string): string[] => ifThere(() => readdirSync(dir)) ?? []

const remove = (path: string): void => rmSync(path, { recursive: true, force: true })

/** Removes a directory that somebody may look for; nobody finds half of it. */
const removeWhole = (dir: string, name: string): void => {
  renameSync(join(dir, name), join(dir, `.gone-${name}`))
  remove(join(dir, `.gone-${name}`))
}

/** Removes a link that leads nowhere any more. */
const removeDangling = (link: string, kept: ReadonlySet<string>): void => {
  if (ifThere(() => lstatSync(link)) && !kept.has(basename(readlinkSync(link)))) remove(link)
}

const cleanBundles = (runtime: string): Set<string> => {
  const dir = join(runtime, 'bundles')
  const names = list(dir).filter(name => bundleName.test(name))
  const used = bundlesInUse(dir, names)
  for (const name of names) if (!used.has(name)) removeWhole(dir, name)
  for (const name of list(dir)) if (/^\.(new|gone)-/.test(name)) remove(join(dir, name))
  removeDangling(join(dir, 'current'), used)
  removeDangling(join(runtime, 'bundle'), used)
  if (used.size === 0) remove(dir)
  return used
}

const digestOf = (names: string, file: string): string =>
  (JSON.parse(readFileSync(join(names, file), 'utf8')) as { digest: string }).digest

/** A server that runs finds every image that it has found before. */
const cleanImages = (images: string, served: boolean): Set<string> => {
  const [trees, names, recipes] = ['trees', 'names', 'recipes'].map(name => join(images, name)) as [
    string,
    string,
    string,
  ]
  const pointers = list(names).filter(file => file.endsWith('.json') && !file.startsWith('.'))
  const named = pointers.map(file => ({ file, digest: digestOf(names, file) }))
  const digests = list(trees).filter(name => !name.startsWith('.'))
  const used = treesInUse(digests)
  if (served) for (const { digest } of named) if (digests.includes(digest)) used.add(digest)
  for (const { file, digest } of named) {
    if (used.has(digest)) continue
    remove(join(names, file))
    remove(join(recipes, file.replace(/\.json$/, '')))
  }
  for (const digest of digests) if (!used.has(digest)) removeWhole(trees, digest)
  for (const name of list(images)) if (name.startsWith('.')) remove(join(images, name))
  if (used.size === 0) remove(images)
  return used
}

/** Cleans the checkout at `root` and gives a line for each thing that stays. As root, who alone sees what is in use. */
export const clean = (root: string): string[] => {
  for (const path of neverUsed) remove(join(root, path))
  const runtime = join(root, '.runtime')
  const bundles = join(runtime, 'bundles')
  // Before anything is removed: what a server holds is seen by what is still there.
  const served = isServed(
    bundles,
    list(bundles).filter(name => bundleName.test(name)),
  )
  const usedBundles = cleanBundles(runtime)
  const usedTrees = cleanImages(join(runtime, 'images'), served)
  const why = served ? 'a server or sandboxes use it' : 'sandboxes use it'
  return [
    ...[...usedBundles].map(name => `.runtime/bundles/${name} stays: ${why}`),
    ...[...usedTrees].map(name => `.runtime/images/trees/${name} stays: ${why}`),
  ]
}
