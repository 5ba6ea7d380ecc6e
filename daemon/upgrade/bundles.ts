/**
 * Releases that the host shows to its sandboxes: a directory of runtime bundles, mounted read-only, in which the file
 * `latest` names the newest. Nobody in the sandbox can write there, so a bundle is run in place.
 *
 * The mount is an overlay, which remembers a name that was looked up: a link that leads elsewhere by now would be seen as
 * it was, and a bundle that has come since as missing. A file's content and a directory's list are always as they are.
 */
import { readdir, readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { errno, fail, messageOf } from '../../shared/errors.ts'
import { s } from '../../shared/schema.ts'

interface BundleRelease {
  readonly dir: string
  readonly digest: string
  /** Starts its daemon, by its own loader and libraries. */
  readonly command: readonly string[]
}

const shape = s.object({ digest: s.string(), arch: s.string(), command: s.array(s.string()).check(s.minLength(1)) })
/** Where a bundle is normally mounted: its command's paths begin with this. */
const home = '/.hutch/'

const read = async (dir: string) => shape.parse(JSON.parse(await readFile(join(dir, 'bundle.json'), 'utf8')))

/** The base address of the releases in `dir`, as an upgrade names it; '' when there are none. */
export const channelOf = (dir: string): string => (dir === '' ? '' : pathToFileURL(dir).href)

/** What `version` is called in the directory; one that is written by an older `make setup` has only the link `current`. */
const nameOf = async (top: string, version: string): Promise<string> => {
  if (version !== 'latest') return version
  try {
    return (await readFile(join(top, 'latest'), 'utf8')).trim()
  } catch (error) {
    if (errno(error) === 'ENOENT') return 'current'
    throw error
  }
}

/** The bundle called `version`: `latest`, or the digest it is named by. Throws `operation_failed`. */
export const bundleIn = async (releases: string, version: string): Promise<BundleRelease> => {
  try {
    const top = await realpath(releases)
    const name = await nameOf(top, version)
    if (!(await readdir(top)).includes(name)) throw new Error(`there is no "${name}"`)
    const dir = await realpath(join(top, name))
    if (dirname(dir) !== top) throw new Error(`it lies outside of ${top}`)
    const { digest, arch, command } = await read(dir)
    if (arch !== process.arch) throw new Error(`it is for ${arch}, not for ${process.arch}`)
    const moved = command.map(part => (part.startsWith(home) ? join(dir, part.slice(home.length)) : part))
    // Its programs were linked for /.hutch, which holds the libraries of the bundle this sandbox began with.
    moved.splice(1, 0, '--inhibit-rpath', '')
    return { dir, digest, command: moved }
  } catch (error) {
    throw fail('operation_failed', { reason: `release ${version} is not in ${releases}: ${messageOf(error)}` }, error)
  }
}
