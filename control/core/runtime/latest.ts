/** The newest bundle's name, for the sandboxes that see the directory of bundles and may upgrade to it. */
import { closeSync, constants, fchmodSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Writes it in place: theirs is an overlay, which would go on showing a file that another one has replaced. */
export const writeLatest = (bundles: string, digest: string): void => {
  const fd = openSync(join(bundles, 'latest'), constants.O_WRONLY | constants.O_CREAT, 0o644)
  try {
    writeSync(fd, `${digest}\n`, 0)
    // They are nobody there, whatever the umask was.
    fchmodSync(fd, 0o644)
  } finally {
    closeSync(fd)
  }
}
