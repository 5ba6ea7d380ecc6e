import { check, lazy, loadAddon } from '../load.ts'

interface UapiAddon {
  control_socket(path: string): number
  no_more_files(pid: number): number
}

const addon = lazy(() => loadAddon<UapiAddon>('uapi'))

/**
 * A listening Unix socket, and a connection to it that waits to be accepted. `path` (at most 107 bytes) no longer
 * exists when this returns; both descriptors belong to the caller.
 */
export const controlSocket = (path: string): { listening: number; connected: number } => {
  const ends = check('control socket', addon().control_socket(path), path)
  return { listening: ends % 2 ** 20, connected: Math.floor(ends / 2 ** 20) }
}

/** From now on the process can open no file and accept no connection; undoing it takes CAP_SYS_RESOURCE. */
export const forbidMoreFiles = (pid: number): void => void check('prlimit', addon().no_more_files(pid))
