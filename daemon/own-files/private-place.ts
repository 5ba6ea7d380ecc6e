/**
 * Where a daemon of a sandbox keeps what it believes: a directory that the host has opened for it and that is mounted nowhere. Tenants
 * have no path to it, and no way to a descriptor of the daemon's.
 */
import { fstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Env } from '../config/read.ts'
import { errno } from '../../shared/errors.ts'
import { keepOverExec } from '../native/descriptors/descriptors.ts'

const variable = 'HUTCH_PRIVATE_FD'

/** The variable for a program that has the place as its descriptor `fd`; undefined for one that has not. */
export const privatePlaceAt = (fd: number | undefined): Record<string, string> => ({ [variable]: fd?.toString() ?? '' })

/** The descriptor that the environment names; undefined when none is. */
export const privateFd = (env: Env): number | undefined =>
  /^[1-9]\d{0,4}$/.test(env[variable] ?? '') ? Number(env[variable]) : undefined

/** The path of `name` in the place; undefined without one. It is this process's only. */
export const privatePath = (env: Env, name: string): string | undefined => {
  const fd = privateFd(env)
  return fd === undefined ? undefined : join('/proc/self/fd', String(fd), name)
}

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
