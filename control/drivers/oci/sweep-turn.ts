/**
 * Who sweeps after an instance holds its turn meanwhile, so that the instance, should it begin anew just then, waits instead of
 * losing what it makes. An abstract Unix socket (unix(7)), which the kernel frees when its holder dies, however it dies.
 */
import { createServer } from 'node:net'
import type { Clock } from '../../../shared/clock.ts'
import { errno, fail } from '../../../shared/errors.ts'

/** A sweep ends machines, which takes seconds at most. */
const boundMs = 60_000
const againMs = 20

/** Undefined while another has it; else gives it back. */
const take = (tag: string): Promise<(() => Promise<void>) | undefined> =>
  new Promise((resolve, reject) => {
    const server = createServer(socket => socket.destroy())
    server.once('error', error => (errno(error) === 'EADDRINUSE' ? resolve(undefined) : reject(error)))
    server.listen(`\0hutch-sweep-${tag}`, () => {
      server.unref()
      resolve(() => new Promise(done => void server.close(() => done())))
    })
  })

/** Runs `sweep` unless another sweeps after that instance; whether it did. */
export const inSweepTurn = async (tag: string, sweep: () => Promise<void>): Promise<boolean> => {
  const release = await take(tag)
  if (!release) return false
  try {
    await sweep()
  } finally {
    await release()
  }
  return true
}

/**
 * Resolves when nobody sweeps after the instance. It has claimed its data directory by then, so that nobody begins to. Throws
 * `busy` after a minute.
 */
export const untilUnswept = async (tag: string, clock: Clock): Promise<void> => {
  for (const start = clock.elapsed(); !(await inSweepTurn(tag, async () => {})); await clock.sleep(againMs))
    if (clock.elapsed() - start > boundMs)
      throw fail('busy', {
        what: `another Hutch sweeps after the instance ${tag}, which was taken for one that is over`,
        next: 'start it again when that is done',
      })
}
