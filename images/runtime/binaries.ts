/**
 * Programs with everything that they need in an empty root file system: their libraries, and a loader path inside the
 * bundle instead of the system's.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { execa } from 'execa'
import { daemonLoader, loaderName, ownLibraries } from '../../shared/bundle.ts'
import { withoutTenantPaths } from './tenant-paths.ts'

/** Where the bundle is mounted in every sandbox. */
export const mountPoint = '/.hutch'

/** Programs of the bundle: the name in bin/, and names that are links to it. */
const programs: readonly { readonly name: string; readonly links?: readonly string[] }[] = [
  {
    name: 'xtables-nft-multi',
    links: ['iptables', 'iptables-restore', 'iptables-save', 'ip6tables', 'ip6tables-restore', 'ip6tables-save'],
  },
  { name: 'xtables-legacy-multi', links: ['iptables-legacy', 'iptables-legacy-restore', 'ip6tables-legacy'] },
  { name: 'ip' },
  { name: 'wg' },
  { name: 'wireguard-go' },
  { name: 'setpriv' },
  { name: 'rg' },
]

const searchPath = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin', '/usr/local/bin']

/** Path of a program of this machine, or undefined. */
export const findProgram = (name: string): string | undefined =>
  searchPath.map(dir => join(dir, name)).find(path => existsSync(path))

const find = (name: string): string => {
  const found = findProgram(name)
  if (!found) throw new Error(`${name} is missing on this machine; run: make setup`)
  return realpathSync(found)
}

/** The files that a binary loads, including the loader: name → path. */
const librariesOf = async (file: string): Promise<Map<string, string>> => {
  const { stdout } = await execa('ldd', [file], { stdin: 'ignore', reject: false })
  const found = new Map<string, string>()
  for (const line of stdout.split('\n')) {
    if (line.includes('=> not found')) throw new Error(`${file}: ${line.trim()}`)
    const path = /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1]
    if (path) found.set(basename(path), path)
  }
  return found
}

const copy = (from: string, to: string, mode: number): void => {
  if (existsSync(to)) return
  copyFileSync(from, to)
  chmodSync(to, mode)
}

/** Libraries are looked for in `directory` of the bundle, and so is the loader. */
const relink = async (program: string, directory: string): Promise<void> => {
  const libraries = join(mountPoint, directory)
  // RPATH and not RUNPATH: what a library needs is looked for there too.
  const paths = ['--set-interpreter', join(libraries, loaderName), '--force-rpath', '--set-rpath', libraries]
  await execa('patchelf', [...paths, program])
}

/**
 * The libraries of the daemon and of its tools: of those in `lib`, copies that look for nothing in the tenant's root,
 * and links to those that do not anyway. Node itself has them when the daemon's command says so (`bundleCommand`).
 */
const makeOwnLibraries = (lib: string, own: string): void => {
  mkdirSync(own)
  for (const name of readdirSync(lib)) {
    if (statSync(join(lib, name)).isDirectory()) continue
    const copied = join(own, name)
    copyFileSync(join(lib, name), copied)
    if (withoutTenantPaths(name, copied)) continue
    rmSync(copied)
    symlinkSync(join('../lib', name), copied)
  }
  // Whoever runs a file that he cannot read can neither trace the process nor write to its files in /proc. The owner of
  // the bundle is nobody in a machine with users of its own. For the daemon alone: it looks into the files of its tools.
  copyFileSync(join(own, loaderName), join(own, daemonLoader))
  chmodSync(join(own, daemonLoader), 0o511)
}

/**
 * Puts Node and the programs into `bin`, what they load into `lib`, and what the daemon and its tools load into
 * `ownLibraries`. `addons` are files that Node will load.
 */
export const copyBinaries = async (
  from: { node: string; addons: readonly string[] },
  to: { bundle: string; bin: string; lib: string },
) => {
  const place = async (file: string, name: string): Promise<boolean> => {
    copy(file, join(to.bin, name), 0o755)
    const libraries = await librariesOf(file)
    for (const [library, path] of libraries) copy(path, join(to.lib, library), 0o755)
    return libraries.size > 0
  }
  await place(from.node, 'node')
  await relink(join(to.bin, 'node'), 'lib')
  for (const { name, links = [] } of programs) {
    const isLinked = await place(find(name), name)
    withoutTenantPaths(name, join(to.bin, name))
    // A static program has no loader to change.
    if (isLinked) await relink(join(to.bin, name), ownLibraries)
    for (const link of links) symlinkSync(name, join(to.bin, link))
  }
  for (const addon of from.addons)
    for (const [library, path] of await librariesOf(addon)) copy(path, join(to.lib, library), 0o755)
  makeOwnLibraries(to.lib, join(to.bundle, ownLibraries))
}

/** Debian's directory of the extensions that iptables loads by itself. */
export const xtablesDirectory = (): string | undefined =>
  [`/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/xtables`, '/usr/lib/xtables'].find(existsSync)
