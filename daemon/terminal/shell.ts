/** Which shell a terminal starts. */
import { accessSync, constants } from 'node:fs'
import type { Environment } from '../environment.ts'
import { shellPath } from '../process/spawn.ts'

const usualShells = ['/bin/zsh', '/bin/bash', '/bin/sh', '/bin/ash']

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // Missing, or not executable for this user: the next one is tried.
    return false
  }
}

/** The shell that was asked for, else the one of the environment, else the first usual one that exists. */
export const shellOf = (environment: Environment, wanted: string | undefined): string => {
  const candidates = [environment.get('SHELL') ?? '', ...usualShells].filter(Boolean)
  return shellPath(wanted ?? candidates.find(isExecutable) ?? '/bin/sh')
}
