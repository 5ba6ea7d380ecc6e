import { createHash } from 'node:crypto'
import { connect, createServer, type Socket } from 'node:net'
import { errno, fail } from '../../shared/errors.ts'

/** An abstract Unix socket (unix(7)) named after the directory, which the kernel frees when its holder dies, however it dies. */
const socketOf = (dataDir: string): string =>
  `\0hutch-${createHash('sha256').update(dataDir).digest('hex').slice(0, 32)}`

export interface Claim {
  /** Who connects to the socket from now on: everybody in this network namespace can. Until then, nobody is heard. */
  answer(on: (socket: Socket) => void): void
  release(): Promise<void>
}

/**
 * Sees to it that one process at a time runs on a data directory, given by its real path. Throws `busy` when another holds it.
 */
export const claimDataDir = async (dataDir: string): Promise<Claim> => {
  let answer = (socket: Socket): void => void socket.destroy()
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    answer(socket)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', error =>
      reject(
        errno(error) === 'EADDRINUSE'
          ? fail(
              'busy',
              { what: `another Hutch runs on ${dataDir}`, next: 'stop it, or set HUTCH_DATA_DIR to another directory' },
              error,
            )
          : error,
      ),
    )
    server.listen(socketOf(dataDir), resolve)
  })
  server.unref()
  return {
    answer(on) {
      answer = on
    },
    release: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

/** Whether a process holds it, wherever the directory is to be seen. */
export const isClaimed = async (dataDir: string): Promise<boolean> => {
  const holder = await reachHolder(dataDir)
  holder?.destroy()
  return holder !== undefined
}

/** A connection to whoever has claimed the directory; undefined when nobody has. */
export const reachHolder = (dataDir: string): Promise<Socket | undefined> =>
  new Promise((resolve, reject) => {
    const socket = connect(socketOf(dataDir))
    socket.once('connect', () => resolve(socket))
    socket.once('error', error => (errno(error) === 'ECONNREFUSED' ? resolve(undefined) : reject(error)))
  })
