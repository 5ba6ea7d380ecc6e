/**
 * The writable root of a machine. Files the host has to say something in (resolv.conf, hosts, hostname) are written into
 * the fresh upper layer, which no tenant has seen, so no path of the image is followed.
 */
import { constants } from 'node:fs'
import { lstat, mkdir, chmod, chown, open, rm, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { errno, fail } from '../../../shared/errors.ts'
import { run, tool } from './command.ts'
import type { MachineFiles } from './layout.ts'
import { removeDirectory } from './remove-directory.ts'

export interface RootInput {
  readonly files: MachineFiles
  /** The image, shared and read-only. */
  readonly image: string
  readonly hostname: string
  readonly address: string
  readonly resolvers: readonly string[]
  /** Further files of /etc, by their names. */
  readonly etc: Readonly<Record<string, string>>
  readonly overlay: boolean
  /** It has a directory beside its root that is on no overlay. */
  readonly nests?: boolean
  /** It is a generic machine's, which has nothing to write to yet. */
  readonly generic?: boolean
  /** Is told of each directory that the machine writes to, while there is nothing in it. */
  readonly made?: ((directory: string) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

const lowerDirectory = async (path: string) => {
  try {
    const stat = await lstat(path)
    return stat.isDirectory() ? stat : undefined
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined
    throw error
  }
}

const needImage = async ({ image }: RootInput) => {
  const stat = await lowerDirectory(image)
  if (stat) return stat
  throw fail('driver_failed', {
    driver: 'oci',
    step: 'image',
    reason: `${image} is not a directory: the image's files are gone; build or import the image again`,
  })
}

/** The host's files in /etc, by their names. */
export const hostFiles = (
  input: Pick<RootInput, 'hostname' | 'address' | 'resolvers' | 'etc'>,
): Record<string, string> => {
  const { hostname, address, resolvers, etc } = input
  const hosts = ['127.0.0.1 localhost', '::1 localhost ip6-localhost ip6-loopback', `${address} ${hostname}`]
  return {
    'resolv.conf': resolvers.map(resolver => `nameserver ${resolver}\n`).join(''),
    hosts: `${hosts.join('\n')}\n`,
    hostname: `${hostname}\n`,
    ...etc,
  }
}

const writeNames = async (etc: string, input: RootInput): Promise<void> => {
  for (const [name, text] of Object.entries(hostFiles(input))) {
    await rm(join(etc, name), { force: true })
    await writeFile(join(etc, name), text, { mode: 0o644, flag: 'wx' })
  }
}

/**
 * Makes a root ready whose upper layer a tenant has written: it stays as it is but for the host's own files in /etc. The
 * tenant may have put links anywhere, so /etc is opened without following one, and files are made anew in it.
 */
export const prepareAgain = async (input: RootInput): Promise<void> => {
  const { files } = input
  await needImage(input)
  await removeDirectory(files.work)
  await mkdir(files.work)
  input.made?.(files.work)
  let etc: FileHandle
  try {
    etc = await open(join(files.upper, 'etc'), constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch (error) {
    // The tenant has made something else of it: then it has its own names, too.
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errno(error) ?? '')) return
    throw error
  }
  try {
    await writeNames(`/proc/self/fd/${etc.fd}`, input)
  } catch (error) {
    // A directory in the place of one of them is the tenant's own doing.
    if (!['ERR_FS_EISDIR', 'EISDIR', 'EEXIST'].includes(errno(error) ?? '')) throw error
  } finally {
    await etc.close()
  }
}

const copyImage = async ({ files, image, signal }: RootInput): Promise<void> => {
  const args = ['-a', '--reflink=auto', '--one-file-system', `${image}/.`, files.root]
  await run({ step: 'copy image', file: tool('cp'), args, signal, timeoutMs: 110_000 })
}

/** Makes the directories of the root and fills in the host's files. The overlay itself is mounted at start. */
export const prepareRoot = async (input: RootInput): Promise<void> => {
  const { files, image, overlay, generic = false } = input
  const stat = await needImage(input)
  if (generic) return
  const top = overlay ? files.upper : files.root
  if (overlay) {
    await mkdir(files.upper)
    await mkdir(files.work)
    for (const directory of [files.upper, files.work]) input.made?.(directory)
    // The upper directory is the machine's "/": mode and owner are those of the image, whatever the umask.
    await chmod(files.upper, stat.mode & 0o7777)
    await chown(files.upper, stat.uid, stat.gid)
  } else {
    await mkdir(files.root, { mode: 0o755 })
    await copyImage(input)
  }
  const etc = join(top, 'etc')
  const lower = await lowerDirectory(join(image, 'etc'))
  if (overlay || !lower) {
    // A link of that name in a copied image is the tenant's; a directory takes its place.
    if (!overlay) await rm(etc, { force: true })
    await mkdir(etc)
    await chmod(etc, (lower?.mode ?? 0o755) & 0o7777)
    if (lower) await chown(etc, lower.uid, lower.gid)
  }
  await writeNames(etc, input)
}
