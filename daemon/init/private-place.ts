/** The descriptor that the host has given the daemon of its private place. */
import { fstatSync } from 'node:fs'
import { errno } from '../../shared/errors.ts'
import { privateFd } from '../config/private-place.ts'
import type { Env } from '../config/read.ts'
import { keepOverExec } from '../native/descriptors/descriptors.ts'

const isOwnDirectory = (fd: number): boolean => {
  try {
    const { uid, mode } = fstatSync(fd)
    return (mode & 0o170_777) === 0o040_700 && uid === process.geteuid?.()
  } catch (error) {
    if (errno(error) === 'EBADF') return false
    throw error
  }
}

/**
 * Whether the descriptor is the place, as it is not where the host could not make one, or where a release that does not know of it was
 * in between. From then on it is closed on exec.
 */
export const receivePrivatePlace = (env: Env): boolean => {
  const fd = privateFd(env)
  if (fd === undefined || fd < 3 || !isOwnDirectory(fd)) return false
  keepOverExec(fd, false)
  return true
}
