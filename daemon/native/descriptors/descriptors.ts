/** Descriptors that Node has no function for. All are closed on exec and belong to the caller. */
import { check, lazy, loadAddon } from '../load.ts'

interface DescriptorsAddon {
  make_pipe(): number
  memory_file(): number
  copy(fd: number): number
  keep(fd: number, yes: boolean): number
  listen_tcp(port: number, host: string): number
}

const addon = lazy(() => loadAddon<DescriptorsAddon>('descriptors'))

/** A pipe. */
export const makePipe = (): { read: number; write: number } => {
  const ends = check('pipe', addon().make_pipe())
  return { read: ends % 2 ** 20, write: Math.floor(ends / 2 ** 20) }
}

/** Says whether a descriptor stays open when this process execs. */
export const keepOverExec = (fd: number, yes: boolean): void => void check('fcntl', addon().keep(fd, yes))

/** A file that is in memory and in no directory: it can be reached through its descriptors only. */
export const memoryFile = (): number => check('memfd_create', addon().memory_file())

/** Another descriptor of the same open file or socket. */
export const copyDescriptor = (fd: number): number => check('fcntl', addon().copy(fd))

/**
 * A TCP socket that listens on `port`, 0 for a free one: on the IP address `host`, or else on every address of both
 * families. Throws `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`, and `EINVAL` for a host that is no IP address.
 */
export const listenTcp = (port: number, host = ''): { fd: number; port: number } => {
  const found = check('listen', addon().listen_tcp(port, host), `${host && `${host}, `}port ${port}`)
  return { fd: found % 2 ** 20, port: Math.floor(found / 2 ** 20) }
}
