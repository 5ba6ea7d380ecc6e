/** Writes a stream to a descriptor in large pieces, several under way at once, with bounded memory. */
import fs from 'node:fs'

/** Bytes gathered before a write. */
const blockBytes = 1024 * 1024
/** Writes in parallel; memory is at most this many blocks and one more. */
const parallelWrites = 4
/** Below the kernel's limit of 1024 buffers for one write. */
const buffersPerWrite = 512

interface Sink {
  /** Bytes taken so far. */
  readonly bytes: number
  /** Takes a chunk; when a promise is returned, wait for it before the next. Throws the first failed write. */
  write(chunk: Buffer): Promise<void> | undefined
  /** Writes what is left and waits for all of it. */
  finish(): Promise<void>
  /** Waits until no write uses the descriptor any more; never fails. Call it before closing after a failure. */
  settle(): Promise<void>
}

type Done = (error: NodeJS.ErrnoException | null) => void

const writeAll = (fd: number, chunks: Buffer[], position: number, total: number, done: Done): void => {
  fs.writev(fd, chunks, position, (error, written) => {
    if (error) return done(error)
    if (written === total) return done(null)
    // A short write, as on a disk that is nearly full: the next one goes on after it, and fails with the reason if there is one.
    const rest = Buffer.concat(chunks, total).subarray(written)
    writeAll(fd, [rest], position + written, rest.length, done)
  })
}

/** A sink that writes at increasing offsets from `start`. The caller opens and closes `fd`. */
export const createFileSink = (fd: number, start = 0): Sink => {
  let gathered: Buffer[] = []
  let size = 0
  let position = start
  let inFlight = 0
  let failure: NodeJS.ErrnoException | undefined
  let wake: (() => void) | undefined

  const flush = () => {
    if (size === 0) return
    inFlight++
    writeAll(fd, gathered, position, size, error => {
      inFlight--
      if (error) failure ??= error
      wake?.()
    })
    position += size
    gathered = []
    size = 0
  }
  const until = async (enough: () => boolean) => {
    while (!enough()) {
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
    wake = undefined
  }
  const room = async () => {
    await until(() => inFlight < parallelWrites)
    if (failure) throw failure
  }
  return {
    get bytes() {
      return position - start + size
    },
    write(chunk) {
      if (failure) throw failure
      gathered.push(chunk)
      size += chunk.length
      if (size < blockBytes && gathered.length < buffersPerWrite) return undefined
      flush()
      return inFlight < parallelWrites ? undefined : room()
    },
    async finish() {
      flush()
      await until(() => inFlight === 0)
      if (failure) throw failure
    },
    settle: () => until(() => inFlight === 0),
  }
}
