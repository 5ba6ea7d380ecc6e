/**
 * Where a daemon of a sandbox keeps what it believes: a directory that the host has opened for it and that is mounted nowhere. Tenants
 * have no path to it, and no way to a descriptor of the daemon's.
 */
import { join } from 'node:path'
import type { Env } from './read.ts'

/** The variable for a program that has the place as its descriptor `fd`; undefined for one that has not. */
export const privatePlaceAt = (fd: number | undefined): Record<string, string> => {
  const named = fd?.toString() ?? ''
  return { HUTCH_PRIVATE_FD: named }
}

/** The descriptor that the environment names; undefined when none is. */
export const privateFd = (env: Env): number | undefined => {
  const named = env['HUTCH_PRIVATE_FD'] ?? ''
  return /^[1-9]\d{0,4}$/.test(named) ? Number(named) : undefined
}

/** The path of `name` in the place; undefined without one. It is this process's only. */
export const privatePath = (env: Env, name: string): string | undefined => {
  const fd = privateFd(env)
  return fd === undefined ? undefined : join('/proc/self/fd', String(fd), name)
}
