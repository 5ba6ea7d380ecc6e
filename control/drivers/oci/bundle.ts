/** The runtime bundle's own word on how its daemon is started: `bundle.json`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fail, messageOf } from '../../../shared/errors.ts'
import { parse, s, type Out } from '../../../shared/schema.ts'

const shape = s.object({
  /** Arguments of the first process; paths are those inside, below /.hutch. */
  command: s.array(s.string()).check(s.minLength(1)),
  /** Port the daemon listens on. */
  port: s._default(s.int(), 8080),
})
export type Bundle = Out<typeof shape>

/** Throws `driver_failed` when the bundle is not there or not whole. */
export const readBundle = async (bundleDir: string): Promise<Bundle> => {
  const file = join(bundleDir, 'bundle.json')
  try {
    return parse(shape, JSON.parse(await readFile(file, 'utf8')), 'config')
  } catch (error) {
    const reason = `${file}: ${messageOf(error)}; run make to build the runtime bundle, or set HUTCH_BUNDLE_DIR`
    throw fail('driver_failed', { driver: 'oci', step: 'runtime bundle', reason }, error)
  }
}
