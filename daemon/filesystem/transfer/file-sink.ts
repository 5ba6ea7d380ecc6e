/** Writes a stream to a descriptor in large pieces, several under way at once, with bounded memory. */
import fs from 'node:fs'
import type { Readable } from 'node:stream'

/** Bytes gathered before a write. */
const blockBytes = 1024 * 1024
/** Writes under way at once; memory is at most this many blocks and one more. */
const parallelWrites = 4
/** Below the kernel's limit of 1024 buffers for one write. */
const buffersPerWrite = 512

export interface Sink {
  /** Bytes taken so far. */
  readonly bytes: number
  /** Takes a chunk; when a promise is returned, wait for it before the next. Throws the first failed write. */
  write(chunk: Buffer): Promise<void> | undefined
  /** Writes what is left and waits for all of it. */
  finish(): Promise<void>
  /** Waits until no write uses the descriptor any more; never fails. Before closing after a failure. */
  settle(): Promise<void>
}

type Done = (error: NodeJS.ErrnoException | null) => void

const writeAll = (fd: number, chunks: Buffer[], position: number, total: number, done: Done): void => {
  fs.writev(fd, chunks, position, (error, written) => {
    if (error) return done(error)
    if (written === total) return done(null)
    // A short write, as on a disk that is nearly full: go on behind it, and learn the reason if there is one.
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

/**
 * Pours `source` into `take` until its end; `take` may return a promise to be waited for. Unlike a pipeline, a failure
 * leaves the source open, paused: it may be a request whose answer has yet to be sent over the same connection. `hold`
 * pauses the source with nothing listening for data until the promise that `take` returns: it may then be read otherwise.
 * Throws the signal's reason.
 */
export const consume = (
  source: Readable,
  take: (chunk: Buffer, hold: () => void) => Promise<void> | undefined,
  signal?: AbortSignal,
): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    if (source.readableEnded) return resolve()
    if (source.destroyed) return reject(source.errored ?? new Error('the stream was closed before it ended'))
    let over = false
    let taking: Promise<void> | undefined
    const end = (error?: unknown) => {
      if (over) return
      over = true
      source.off('data', data).off('end', ended).off('close', closed)
      signal?.removeEventListener('abort', aborted)
      source.pause()
      if (error === undefined) resolve()
      else reject(error)
    }
    let held = false
    const hold = () => {
      held = true
      source.off('data', data).pause()
    }
    const go = () => {
      taking = undefined
      if (over) return
      if (held) source.on('data', data)
      held = false
      source.resume()
    }
    const data = (chunk: Buffer) => {
      try {
        const full = take(chunk, hold)
        if (!full) return held ? go() : undefined
        source.pause()
        taking = full.then(go, end)
      } catch (error) {
        end(error)
      }
    }
    // A stream may say that it ended while its last chunk is still being taken.
    const ended = () => (taking ? void taking.then(() => end()) : end())
    const closed = () => {
      if (!source.readableEnded) end(source.errored ?? new Error('the stream was closed before it ended'))
    }
    const aborted = () => end(signal?.reason)
    signal?.addEventListener('abort', aborted)
    // The error listener stays: a connection that breaks later must find somebody listening.
    source.on('data', data).on('end', ended).on('close', closed).on('error', end).resume()
  })

/** Reads and drops what is left, at most `limit` bytes, so that a client still sending gets to see the answer. */
export const discard = async (source: Readable, limit: number): Promise<void> => {
  let left = limit
  await consume(source, chunk => {
    left -= chunk.length
    if (left < 0) throw new Error('enough')
    return undefined
  }).catch(() => {
    // Only the answer matters now, and a client that is gone does not wait for it.
  })
}
