/** The operator's directory of drives: `<directory>/<workspace>/<drive>/`. */
import { mkdir, realpath, stat } from 'node:fs/promises'
import { fail } from '../../../../shared/errors.ts'

const unusable = (reason: string) => fail('invalid_argument', { field: 'HUTCH_DRIVES_DIR', reason })

/**
 * Its real path; made when it is missing. Throws `invalid_argument` when others on this box may enter it: tenants are
 * root in their sandboxes, and a setuid file that one leaves in a drive would count outside of them.
 */
export const openDrivesDirectory = async (directory: string): Promise<string> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const path = await realpath(directory)
  const { uid, mode } = await stat(path)
  if (uid !== process.getuid?.()) throw unusable(`${path} belongs to user ${uid}; give it to the user that runs Hutch`)
  if ((mode & 0o077) !== 0) throw unusable(`other users of this box may use ${path}; run chmod 700 ${path}`)
  return path
}
