/**
 * Programs with everything that they need in an empty root file system: their libraries, and a loader path inside the
 * bundle instead of the system's.
 */
import { chmodSync, copyFileSync, existsSync, realpathSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { execa } from 'execa'
import { loaderName } from '../../shared/bundle.ts'

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

/** Puts Node and the programs into `bin`, what they load into `lib`. `addons` are files that Node will load. */
export const copyBinaries = async (
  from: { node: string; addons: readonly string[] },
  to: { bin: string; lib: string },
) => {
  const place = async (file: string, name: string): Promise<void> => {
    copy(file, join(to.bin, name), 0o755)
    const libraries = await librariesOf(file)
    for (const [library, path] of libraries) copy(path, join(to.lib, library), 0o755)
    // A static program has no loader to change.
    if (libraries.size > 0)
      await execa('patchelf', [
        '--set-interpreter',
        join(mountPoint, 'lib', loaderName),
        // RPATH and not RUNPATH: what a library needs is looked for there too.
        '--force-rpath',
        '--set-rpath',
        join(mountPoint, 'lib'),
        join(to.bin, name),
      ])
  }
  await place(from.node, 'node')
  for (const { name, links = [] } of programs) {
    await place(find(name), name)
    for (const link of links) symlinkSync(name, join(to.bin, link))
  }
  for (const addon of from.addons)
    for (const [library, path] of await librariesOf(addon)) copy(path, join(to.lib, library), 0o755)
}

/** Debian's directory of the extensions that iptables loads by itself. */
export const xtablesDirectory = (): string | undefined =>
  [`/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/xtables`, '/usr/lib/xtables'].find(existsSync)
