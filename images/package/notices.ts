/** Whose work the package carries, with licences: computed from what is really in it. */
import { existsSync, globSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { execa } from 'execa'
import { packagesOfPages } from '../../control/server/web/html/assets.ts'
import { findProgram } from '../runtime/binaries.ts'
import { bundledPackages } from '../runtime/compile.ts'

interface Part {
  readonly title: string
  readonly licence: string
}

/** Directories that libraries are in, as the dynamic loader of Debian finds them. */
const libraryDirs = ['/lib/x86_64-linux-gnu', '/usr/lib/x86_64-linux-gnu', '/lib64', '/usr/lib64', '/usr/lib']

const origin = (file: string): string => {
  const found = file.startsWith('lib/')
    ? libraryDirs.map(dir => join(dir, basename(file))).find(existsSync)
    : findProgram(basename(file))
  if (!found) throw new Error(`nobody knows where ${file} of the bundle is from`)
  return realpathSync(found)
}

/** The Debian package that has installed a file; its database may know it by the path without /usr. */
const ownerOf = async (path: string): Promise<string> => {
  for (const name of [path, path.replace(/^\/usr/, '')]) {
    const { stdout, failed } = await execa('dpkg', ['-S', name], { reject: false })
    if (!failed) return (stdout.split('\n')[0] as string).split(': ')[0] as string
  }
  throw new Error(`no Debian package owns ${path}; the package is built on Debian with Debian's programs`)
}

const debianPart = async (name: string): Promise<Part> => {
  const format = '${binary:Package} ${Version} ${source:Package} ${source:Version}'
  const { stdout } = await execa('dpkg-query', ['-W', '-f', format, name])
  const [binary = name, version, source, sourceVersion] = stdout.split(' ')
  const copyright = readFileSync(join('/usr/share/doc', binary.split(':')[0] as string, 'copyright'), 'utf8')
  const from = `https://snapshot.debian.org/package/${source}/${sourceVersion}/`
  return { title: `${binary} ${version}, of Debian; its source: ${from}`, licence: copyright }
}

/** Programs and libraries that the bundle has from the Debian packages of this machine. */
const debianParts = async (bundle: string): Promise<Part[]> => {
  const files = ['bin', 'lib'].flatMap(dir =>
    readdirSync(join(bundle, dir), { withFileTypes: true })
      .filter(entry => entry.isFile() && entry.name !== 'node')
      .map(entry => join(dir, entry.name)),
  )
  const paths = [...files.map(origin), findProgram('busybox') as string]
  const owners = new Set<string>()
  for (const path of paths) owners.add(await ownerOf(path))
  return Promise.all([...owners].sort().map(debianPart))
}

const npmPart = (dir: string): Part => {
  const { name, version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Record<
    string,
    string
  >
  const [file] = globSync('{LICEN[CS]E,licen[cs]e}*', { cwd: dir })
  // What a bundler put into a file of the package has its licences beside that file.
  const files = [...(file === undefined ? [] : [file]), ...globSync('*.js.LICENSE.txt', { cwd: dir }).sort()]
  const texts = files.map(one => readFileSync(join(dir, one), 'utf8').trim())
  return { title: `${name} ${version}`, licence: texts.length > 0 ? texts.join('\n\n') : `Licence: ${license}` }
}

const commonLicences = '/usr/share/common-licenses'

/** The full texts that copyright files of Debian only name. */
const commonParts = (parts: readonly Part[]): Part[] => {
  const all = parts.map(({ licence }) => licence).join('\n')
  const named = [...all.matchAll(/\/usr\/share\/common-licenses\/([\w.+-]*\w)/g)].map(match => match[1] as string)
  const files = [...new Set(named)]
    .sort()
    .map(name => join(commonLicences, name))
    .filter(existsSync)
  return files.map(file => ({ title: basename(file), licence: readFileSync(file, 'utf8') }))
}

const section = (heading: string, parts: readonly Part[]): string[] => [
  '='.repeat(80),
  heading,
  '='.repeat(80),
  ...parts.flatMap(({ title, licence }) => ['', '-'.repeat(80), title, '-'.repeat(80), '', licence.trim()]),
  '',
]

/** Writes the notices for the bundle that `.runtime/bundle` leads to and the image busybox. */
export const writeNotices = async (root: string, to: string): Promise<void> => {
  const bundle = realpathSync(join(root, '.runtime/bundle'))
  // These are in the bundle, or beside the host's pages, as they are.
  const asTheyAre = ['node-pty', ...packagesOfPages].map(name => `node_modules/${name}`)
  const packages = [...(await bundledPackages(root)), ...asTheyAre]
  const npm = packages.map(directory => npmPart(join(root, directory))).sort((a, b) => (a.title < b.title ? -1 : 1))
  const debian = await debianParts(bundle)
  const node = {
    title: `Node.js ${process.version}`,
    licence: readFileSync(join(root, '.runtime/node/LICENSE'), 'utf8'),
  }
  const text = [
    'Hutch is under the licence in the file LICENSE. The archive dist/runtime.tar.zst of this package, and what pages load,',
    'in dist/control/server/web/html, contain work of others, named below. The packages that Hutch depends on are in neither: npm',
    'installs them with their own licences.',
    '',
    ...section('Node.js', [node]),
    ...section('npm packages in the daemon and the pages', npm),
    ...section('Programs and libraries of Debian', debian),
    ...section('Licences that are named above and not repeated there', commonParts(debian)),
  ].join('\n')
  writeFileSync(to, text)
}
