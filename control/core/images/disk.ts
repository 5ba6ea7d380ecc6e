import { statfs } from 'node:fs/promises'
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'

/** Bytes that a disk keeps whatever an image takes: the sandboxes of this machine live on it, too. */
const spareBytes = 256 * 1024 * 1024

/** Aborts with `unprocessable` when the disk of a directory runs full, until `stop`. */
export const watchDisk = (directory: string, clock: Clock): { readonly signal: AbortSignal; stop(): void } => {
  const full = new AbortController()
  const look = async () => {
    const { bavail, bsize } = await statfs(directory)
    if (bavail * bsize < spareBytes)
      full.abort(fail('unprocessable', { reason: `the disk of ${directory} is full: there is no room for the image` }))
  }
  const stop = clock.every(500, () => void look().catch(error => full.abort(error)))
  return { signal: full.signal, stop }
}
