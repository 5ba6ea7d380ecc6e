import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { errno, fail } from '../shared/errors.ts'

/**
 * Sees to it that one process at a time runs on a data directory, given by its real path: an abstract Unix socket
 * (unix(7)) named after it, which the kernel frees when its holder dies, however it dies. Throws `busy` when another
 * holds it.
 */
export const claimDataDir = async (dataDir: string): Promise<() => Promise<void>> => {
  const name = `\0hutch-${createHash('sha256').update(dataDir).digest('hex').slice(0, 32)}`
  const server = createServer(socket => socket.destroy())
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
    server.listen(name, resolve)
  })
  server.unref()
  return () => new Promise<void>(resolve => server.close(() => resolve()))
}
