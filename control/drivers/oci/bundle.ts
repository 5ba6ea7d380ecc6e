/** The runtime bundle's own word on how its daemon is started: `bundle.json`. */
import { readFile, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errno, fail, messageOf } from '../../../shared/errors.ts'
import { rebuild } from '../../../shared/installation.ts'
import { parse, s, type Out } from '../../../shared/schema.ts'

const shape = s.object({
  /** Arguments of the first process; paths are those inside, below /.hutch. */
  command: s.array(s.string()).check(s.minLength(1)),
  /** Port the daemon listens on. */
  port: s._default(s.int(), 8080),
  /** Port on which it is to listen for the host; absent in a bundle from before there was a channel. */
  channelPort: s.optional(s.int()),
})
export type Bundle = Out<typeof shape>

/** Throws `driver_failed` when the bundle is not there or not whole. */
export const readBundle = async (bundleDir: string): Promise<Bundle> => {
  const file = join(bundleDir, 'bundle.json')
  try {
    return parse(shape, JSON.parse(await readFile(file, 'utf8')), 'config')
  } catch (error) {
    const reason = `${file}: ${messageOf(error)}; ${rebuild}, or set HUTCH_BUNDLE_DIR`
    throw fail('driver_failed', { driver: 'oci', step: 'runtime bundle', reason }, error)
  }
}

const real = async (path: string): Promise<string | undefined> => {
  try {
    return await realpath(path)
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/**
 * The directory of bundles that `bundleDir` (a real path) lies in, to be shown to machines so that a running daemon can
 * become a newer one. Only a directory whose link `current` leads to one of its own counts, and only a bundle that has a
 * place to mount it: a bundle that an operator has put somewhere shows nothing of what lies beside it.
 */
export const releasesBeside = async (bundleDir: string): Promise<string | undefined> => {
  const parent = dirname(bundleDir)
  const current = await real(join(parent, 'current'))
  if (current === undefined || dirname(current) !== parent) return undefined
  return (await real(join(bundleDir, 'releases'))) === undefined ? undefined : parent
}
